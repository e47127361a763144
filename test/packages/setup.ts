import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';
import { installCompilers } from './compilers.js';
import { npmInstall } from './npmInstall.js';
import { published } from './published.js';

declare module 'vitest' {
  export interface ProvidedContext {
    /** A foreign project, with our tarballs installed. */
    readonly consumer: string;
  }
}

/** Creates the consumer's project outside this workspace, so that it finds only what was packed. */
export default async function setup({ provide }: TestProject): Promise<() => void> {
  const consumer = mkdtempSync(join(tmpdir(), 'sluice-consumer-'));
  cpSync(join(import.meta.dirname, 'consumer'), consumer, { recursive: true });
  writeFileSync(join(consumer, 'package.json'), JSON.stringify(manifest()));
  writeFileSync(join(consumer, 'entries.ts'), entriesModule());
  await Promise.all([npmInstall(consumer), installCompilers()]);
  provide('consumer', consumer);
  return () => {
    rmSync(consumer, { recursive: true, force: true });
  };
}

/** The dependencies that a user would install: ours, RxJS, and Node's types. */
function manifest(): object {
  const ours = published().map(({ name, tarball }): [string, string] => [name, `file:${tarball}`]);
  return {
    private: true,
    type: 'module',
    dependencies: { ...Object.fromEntries(ours), ...Object.fromEntries(['rxjs', '@types/node'].map(asInstalledHere)) },
    // Our packages that depend on each other get these too.
    overrides: Object.fromEntries(ours),
  };
}

/** A release in the registry tomorrow must not change the result. */
function asInstalledHere(name: string): [string, string] {
  const core = published().find((each) => each.name === '@sluice/core')!;
  const installed = readFileSync(join(core.folder, 'node_modules', name, 'package.json'), 'utf8');
  return [name, JSON.parse(installed).version];
}

/**
 * Imports every entry of every package, and compiles only if all their exports have a type: one that is not found is
 * `any`.
 */
function entriesModule(): string {
  const entries = published().flatMap(({ entries: of }) => of);
  return [
    ...entries.map((entry, n) => `import * as entry${n} from '${entry}';`),
    'type Untyped<Entry> = { [Name in keyof Entry]: 0 extends 1 & Entry[Name] ? Name : never }[keyof Entry];',
    ...entries.map((_, n) => `export const untyped${n}: [Untyped<typeof entry${n}>] extends [never] ? 0 : 1 = 0;`),
    '',
  ].join('\n');
}
