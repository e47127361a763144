import ts from 'typescript';

import type { Mutant } from './mutantList.js';

/** One word of TypeScript, and where it is. */
interface Token {
  readonly text: string;
  readonly start: number;
  readonly end: number;
}

/**
 * A source with the fault of a mutant. It is found by its tokens: line breaks, comments and trailing commas are a matter of layout.
 *
 * @throws Error if the source does not have it exactly once.
 */
export function mutated(source: string, { name, file, from, to }: Mutant): string {
  const tokens = tokensOf(source);
  const wanted = tokensOf(from);
  const starts = tokens.flatMap((_, start) =>
    wanted.every(({ text }, offset) => tokens[start + offset]?.text === text) ? [start] : [],
  );
  const [start = 0] = starts;
  const [first, last] = [tokens[start], tokens[start + wanted.length - 1]];
  if (starts.length !== 1 || !first || !last)
    throw new Error(`The code of the mutant "${name}" is ${starts.length} times in ${file}.`);
  return source.slice(0, first.start) + to + source.slice(last.end);
}

function tokensOf(code: string): Token[] {
  const scanner = ts.createScanner(ts.ScriptTarget.Latest, true, ts.LanguageVariant.Standard, code);
  const tokens: Token[] = [];
  /** Of the templates that the scanner is within, how many braces are open. */
  const braces: number[] = [];
  for (let kind = scanner.scan(); kind !== ts.SyntaxKind.EndOfFileToken; kind = scanner.scan()) {
    if (kind === ts.SyntaxKind.TemplateHead) braces.push(0);
    if (kind === ts.SyntaxKind.OpenBraceToken && braces.length > 0) braces[braces.length - 1]! += 1;
    if (kind === ts.SyntaxKind.CloseBraceToken && braces.length > 0) {
      if (braces.at(-1) === 0) {
        kind = scanner.reScanTemplateToken(false);
        if (kind === ts.SyntaxKind.TemplateTail) braces.pop();
      } else braces[braces.length - 1]! -= 1;
    }
    const token = { text: scanner.getTokenText(), start: scanner.getTokenStart(), end: scanner.getTokenEnd() };
    if (/^[)\]}]$/.test(token.text) && tokens.at(-1)?.text === ',') tokens.pop();
    tokens.push(token);
  }
  return tokens;
}
