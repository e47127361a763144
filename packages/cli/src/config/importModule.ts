import { readFile } from 'node:fs/promises';
import { extname } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import type { Jiti } from 'jiti';
import { decodeSyntaxFault, type SyntaxFault } from './decodeSyntaxFault.js';

/** Loads a module and answers its namespace. TypeScript is taken as it is, also where `./x.js` means `./x.ts`. */
export async function importModule(path: string): Promise<unknown> {
  const { href } = pathToFileURL(path);
  if (!/^\.[cm]?ts$/.test(extname(path))) return await import(href);
  const jiti = await newJiti();
  return await jiti.import(href);
}

/** The file that a package's name stands for, seen from a file; `undefined` if it is not installed there. */
export async function findModule(name: string, from: string): Promise<string | undefined> {
  const jiti = await newJiti();
  const found = jiti.esmResolve(name, { parentURL: pathToFileURL(from).href, try: true });
  return found === undefined ? undefined : fileURLToPath(found);
}

/** Where the syntax of a file is wrong, which Node does not tell; `undefined` if it is right. */
export async function findSyntaxFault(path: string): Promise<SyntaxFault | undefined> {
  const jiti = await newJiti();
  const source = await readFile(path, 'utf8');
  return decodeSyntaxFault(jiti.transform({ source, filename: path, async: true, ts: extname(path) === '.ts' }));
}

/** Loaded only here, since most command lines need none. Without its cache, which would be written into the user's folders. */
async function newJiti(): Promise<Jiti> {
  const { createJiti } = await import('jiti');
  return createJiti(import.meta.url, { fsCache: false, interopDefault: false });
}
