/** What is wrong with a file's syntax. */
export interface SyntaxFault {
  readonly file: string;
  /** From 1. */
  readonly line: number;
  readonly column: number;
  readonly message: string;
}

/** What jiti puts in place of a module that it can't read: it counts columns from 0. `undefined` for all other text. */
export function decodeSyntaxFault(code: string): SyntaxFault | undefined {
  const [, json] = /^exports\.__JITI_ERROR__ = (\{.*\})$/.exec(code.trim()) ?? [];
  if (json === undefined) return undefined;
  const { filename, line, column, message } = JSON.parse(json) as Record<string, unknown>;
  return { file: String(filename), line: Number(line), column: Number(column) + 1, message: String(message).trim() };
}

/** The same, as an error of jiti's says it. */
export function decodeSyntaxError(message: string): SyntaxFault | undefined {
  const [, said, file, line, column] = /^ParseError: (.*?)\s*\n\s*(\S.*):(\d+):(\d+)$/s.exec(message.trim()) ?? [];
  if (said === undefined || file === undefined) return undefined;
  return { file, line: Number(line), column: Number(column) + 1, message: said };
}
