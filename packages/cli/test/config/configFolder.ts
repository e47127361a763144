import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { main } from '../../src/program.js';
import { temporaryFolder } from '../../../../test/kit/temporaryFolder.js';
import { testEnvironment } from '../testEnvironment.js';

const packages = join(import.meta.dirname, '..', '..', '..');

/** A folder as a user has it: files, and a `node_modules` in which our packages are. It goes with the test. */
export function configFolder(files: Readonly<Record<string, string>>): string {
  const folder = temporaryFolder();
  mkdirSync(join(folder, 'node_modules', '@sluice'), { recursive: true });
  for (const name of ['core', 'cli'])
    symlinkSync(join(packages, name), join(folder, 'node_modules', '@sluice', name), 'dir');
  for (const [name, text] of Object.entries({ 'package.json': '{ "type": "module" }', ...files })) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), text);
  }
  return folder;
}

/** What came of a command in this process. */
export interface Ran {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a command line in this process. */
export async function run(
  args: readonly string[],
  folder: string,
  variables: Readonly<Record<string, string>> = {},
): Promise<Ran> {
  const environment = testEnvironment({ folder, variables });
  const code = await main(args, environment);
  return { code, stdout: environment.written.stdout(), stderr: environment.written.stderr() };
}
