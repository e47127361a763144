// Plays worlds against code that is wrong on purpose: what does not get found shows what no world looks at.
//
//   npm run prove -- worldMutants --minutes 2 --only segments
import { spawn } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { parseArgs } from 'node:util';
import { printTable } from './terminal/printTable.js';
import { mutated } from './world/mutated.js';
import { type Mutant, mutantList } from './world/mutantList.js';

const { values } = parseArgs({
  options: {
    /** How long each is looked for. */
    minutes: { type: 'string', default: '2' },
    seed: { type: 'string', default: '1' },
    /** Only those whose file or name holds this. */
    only: { type: 'string', default: '' },
  },
});

const home = join(import.meta.dirname, '..');
const copy = mkdtempSync(join(tmpdir(), 'sluice-world-mutants-'));
try {
  copyCheckout();
  const mutants = mutantList.filter(({ file, name }) => `${file} ${name}`.includes(values.only));
  const rows = [];
  let missed = 0;
  for (const mutant of mutants) {
    const began = performance.now();
    const found = await search(mutant);
    if (found === undefined) missed += 1;
    rows.push([
      basename(mutant.file),
      mutant.name,
      ((performance.now() - began) / 1_000).toFixed(0),
      found ?? 'NOT FOUND',
    ]);
    console.error(`${mutants.length - rows.length} left: ${mutant.name}: ${found ?? 'NOT FOUND'}`);
  }
  printTable(['file', 'mutant', 's', 'found by'], rows);
  console.log(`${mutants.length - missed} of ${mutants.length} found.`);
  process.exitCode = missed === 0 ? 0 : 1;
} finally {
  rmSync(copy, { recursive: true });
}

/** All that a world needs, so that no checkout is touched. */
function copyCheckout(): void {
  const isLeftOut = (path: string): boolean => /^(dist|\.turbo|coverage|reports)$/.test(basename(path));
  const files = ['package.json', 'pnpm-lock.yaml', 'tsconfig.json', 'tsconfig.base.json'];
  for (const name of ['packages', 'prove', 'scripts', 'test', ...files])
    cpSync(join(home, name), join(copy, name), {
      recursive: true,
      verbatimSymlinks: true,
      filter: (path) => !isLeftOut(path),
    });
  // A folder of its own, since what is made of mutants is cached in it.
  mkdirSync(join(copy, 'node_modules'));
  for (const name of readdirSync(join(home, 'node_modules')))
    if (name !== '.cache') symlinkSync(join(home, 'node_modules', name), join(copy, 'node_modules', name));
}

/** What the first world says that breaks a promise. */
async function search(mutant: Mutant): Promise<string | undefined> {
  const { name, file } = mutant;
  const path = join(copy, file);
  const text = readFileSync(path, 'utf8');
  writeFileSync(path, mutated(text, mutant));
  try {
    const args = ['--import', 'tsx', 'scripts/runBundled.ts', 'prove/worlds.ts', '--first'];
    const only = /^(packages\/cluster|test\/kit)\//.test(file) ? ['--only', 'cluster'] : [];
    const how = ['--minutes', values.minutes, '--seed', values.seed, ...only];
    const child = spawn(process.execPath, [...args, ...how], { cwd: copy });
    let output = '';
    child.stdout.on('data', (data: Buffer) => (output += data.toString()));
    child.stderr.on('data', (data: Buffer) => (output += data.toString()));
    const code = await new Promise((resolve) => child.once('close', resolve));
    if (code === 0) return undefined;
    const [find] = /^(?:Seed|The world of seed).*$/m.exec(output) ?? [];
    // Worlds that were not played find nothing.
    if (find === undefined) throw new Error(`The worlds of the mutant "${name}" were not played: ${output.trim()}`);
    return find.slice(0, 120);
  } finally {
    writeFileSync(path, text);
  }
}
