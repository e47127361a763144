import { basename, dirname } from 'node:path';

/** What Node says of a file with the syntax of modules that it reads as CommonJS. */
const misread = /outside a module|^Unexpected token 'export'|top level bodies of modules/;

/** The file that Node has read as CommonJS though it is written as a module; `undefined` if that is not what is wrong. */
export function commonJsFile(thrown: unknown): string | undefined {
  if (!(thrown instanceof SyntaxError) || !misread.test(thrown.message)) return undefined;
  // Where the file stands, the message does not say; V8 puts it above the stack.
  const [, file] = /^((?:\/|[A-Za-z]:\\|file:).*\.js):\d+$/m.exec(thrown.stack ?? '') ?? [];
  return file;
}

/** What to do about it. @param shown what the file is called in the sentence. */
export function commonJsSentence(file: string, shown: string): string {
  const isModule = `${shown} is written as a module (import, export), but its folder is CommonJS: its package.json does not say "type": "module".`;
  return `${isModule} Run "npm pkg set type=module" in ${dirname(file)}, or name the file ${basename(file, '.js')}.mjs.`;
}
