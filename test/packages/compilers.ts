import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { npmInstall } from './npmInstall.js';

/** The versions of TypeScript that our types support, the newest patch of each. */
const versions = ['5.4.5', '5.5.4', '5.6.3', '5.7.3', '5.8.3', '5.9.3', '6.0.3', '7.0.2'];

const folder = join(import.meta.dirname, '../../node_modules/.cache/typescript');

/** A TypeScript, after {@link installCompilers} has finished. */
export interface Compiler {
  readonly version: string;
  readonly tsc: string;
  /** The module to import it from; TypeScript 7 has none. */
  readonly library: string | undefined;
}

export const compilers: readonly Compiler[] = versions.map((version) => {
  const home = join(folder, 'node_modules', `typescript-${version}`);
  return {
    version,
    tsc: join(home, 'bin/tsc'),
    library: version.startsWith('7.') ? undefined : join(home, 'lib/typescript.js'),
  };
});

/** All of them next to each other, kept from run to run. */
export async function installCompilers(): Promise<void> {
  const aliases = versions.map((version) => [`typescript-${version}`, `npm:typescript@${version}`]);
  const manifest = JSON.stringify({ private: true, dependencies: Object.fromEntries(aliases) });
  const path = join(folder, 'package.json');
  const isInstalled = existsSync(path) && readFileSync(path, 'utf8') === manifest;
  if (isInstalled && compilers.every(({ tsc }) => existsSync(tsc))) return;
  mkdirSync(folder, { recursive: true });
  writeFileSync(path, manifest);
  await npmInstall(folder);
}
