import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, inject, test } from 'vitest';
import { run } from '../run.js';
import { compilers, type Compiler } from './compilers.js';
import { published } from './published.js';

const consumer = inject('consumer');
const entries = published().flatMap(({ entries: of }) => of);
const oldest = compilers[0];
const newest = compilers.at(-1);

/** Projects that use every entry: for Node with exact optional properties, for a bundler with optional properties as they were, for a page. */
const users = ['nodenext', 'bundler', 'page'];
/** Each is a program of its own: in one that imports all doors, a compiler finds names that a door does not lead to. */
const doors = ['main', 'define', 'kit'];

/** What a compiler finds wrong with each project. */
type Faults = Readonly<Record<string, string>>;
const checks = new Map<Compiler, Promise<Faults>>();

/** Checks all projects of a compiler, once. The oldest one emits what it has compiled. */
function check(compiler: Compiler): Promise<Faults> {
  const made = checks.get(compiler) ?? faultsFor(compiler);
  checks.set(compiler, made);
  return made;
}

async function faultsFor(compiler: Compiler): Promise<Faults> {
  const projects = projectsOf(compiler);
  const { tsc, library } = compiler;
  if (library !== undefined) {
    const script = join(import.meta.dirname, 'checkOurTypes.mjs');
    const options = compiler === oldest ? ['--emit'] : [];
    const { code, output } = await run([script, library, ...options, ...projects], consumer, {});
    expect({ code, output }).toMatchObject({ code: 0 });
    return JSON.parse(output);
  }
  // Version 7 is fast enough to check everything. It prints errors to stdout, and nothing else.
  const faults: Record<string, string> = {};
  for (const project of projects) {
    const { code, output } = await run([tsc, '--project', `tsconfig.${project}.json`, '--noEmit'], consumer, {});
    faults[project] = code === 0 ? output : `exit code ${code}: ${output}`;
  }
  return faults;
}

function projectsOf(compiler: Compiler): string[] {
  return [...users, ...(compiler === oldest || compiler === newest ? doors : [])];
}

test.concurrent.each(compilers)(
  'TypeScript $version compiles code that uses every entry, and declares what a program exports that imports one door',
  async (compiler) => {
    expect(await check(compiler)).toEqual(Object.fromEntries(projectsOf(compiler).map((project) => [project, ''])));
  },
);

describe('the installed packages', () => {
  test('run as an ES module, as the oldest TypeScript emits it', async () => {
    expect(await check(oldest!)).toMatchObject({ nodenext: '' });
    expect(await printedBy('story.js')).toEqual({
      rows: 250,
      isWritten: true,
      amounts: true,
      ids: 7,
      counted: '7 rows',
      accepted: 7,
      code: 'config',
      unused: 3,
    });
    expect(await printedBy('extensions.js')).toEqual({
      rows: 5,
      counted: 7,
      hasChecks: true,
      changes: 'board.rows.changes',
      unused: 2,
    });
    const suites = await run(['--test', '--test-reporter=tap', join('out', 'authors.js')], consumer, {});
    expect(suites).toMatchObject({ code: 0, output: expect.stringMatching(/^# fail 0$/m) });
    expect(Number(/^# pass (\d+)$/m.exec(suites.output)?.[1])).toBeGreaterThan(80);
  });

  test('can be required from CommonJS, entry by entry', async () => {
    const { code, output } = await run(['--no-warnings', 'required.cjs', ...entries], consumer, {});
    expect({ code, output }).toMatchObject({ code: 0 });
    const found = Object.entries<number>(JSON.parse(output));
    expect(found.map(([entry]) => entry)).toEqual(entries);
    for (const [entry, names] of found) expect(names, entry).toBeGreaterThan(0);
  });

  test('have axios, axios-retry and Bottleneck as dependencies of core, where audits find them', async () => {
    const names = ['axios', 'axios-retry', 'bottleneck'];
    const { stdout } = await promisify(execFile)('npm', ['ls', '--json', ...names], { cwd: consumer });
    const { dependencies }: { readonly dependencies: Readonly<Record<string, { readonly dependencies?: object }>> } =
      JSON.parse(stdout);
    expect(Object.keys(dependencies['@sluice/core']?.dependencies ?? {})).toEqual(expect.arrayContaining(names));
    const { dependencies: ranges } = JSON.parse(
      readFileSync(join(consumer, 'node_modules/@sluice/core/package.json'), 'utf8'),
    );
    for (const name of names) expect(ranges[name]).toMatch(/^\^\d+\.\d+\.\d+$/);
  });

  test('provide the command to a shell', async () => {
    const { version } = published().find(({ name }) => name === '@sluice/cli')!;
    const { code, output } = await run(['node_modules/.bin/sluice', '--version'], consumer, {});
    expect({ code, output }).toEqual({ code: 0, output: `${version}\n` });
  });
});

async function printedBy(program: string): Promise<unknown> {
  const { code, output } = await run([join('out', program)], consumer, {});
  expect({ code, output }).toMatchObject({ code: 0 });
  return JSON.parse(output);
}
