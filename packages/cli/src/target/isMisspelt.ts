/** Names of fewer letters are alike by chance. */
const shortest = 5;

/**
 * Whether a word looks like a name with a slip or two: a letter that is wrong, missing, too many, or swapped with the next one. A short
 * name allows for one. Capitals make no difference.
 *
 * @example isMisspelt('sqilte', 'sqlite') // true
 */
export function isMisspelt(word: string, name: string): boolean {
  return slips(word.toLowerCase(), name.toLowerCase()) <= (name.length < shortest ? 1 : 2);
}

/** The distance of optimal string alignment, row by row. */
function slips(word: string, name: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: name.length + 1 }, (_, at) => at);
  for (let row = 1; row <= word.length; row += 1) {
    const now = [row];
    for (let column = 1; column <= name.length; column += 1) {
      const at = (line: readonly number[], place: number): number => line[place] ?? Infinity;
      const isSame = word[row - 1] === name[column - 1];
      const isSwapped = word[row - 1] === name[column - 2] && word[row - 2] === name[column - 1];
      now.push(
        Math.min(
          at(last, column) + 1,
          at(now, column - 1) + 1,
          at(last, column - 1) + (isSame ? 0 : 1),
          isSwapped ? at(beforeLast, column - 2) + 1 : Infinity,
        ),
      );
    }
    beforeLast = last;
    last = now;
  }
  return last[name.length] ?? Infinity;
}
