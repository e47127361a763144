import { fork } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Figure, figureOf } from '../figures/figure.js';
import { rowsPerPage, type ServedPages, type ServerAddress } from '../server/servedPages.js';
import { wholeProcess, type Whole } from '../wholes/wholeProcess.js';
import type { Work } from './work.js';

const apiKey = 'bench-key';

interface Goals {
  readonly tuned: number;
  readonly plain: number;
}

/** Pages of an export, and what the command has to reach there. */
const sizes: readonly { readonly pages: number; readonly goals: Goals }[] = [
  { pages: 1_000, goals: { tuned: 0.75, plain: 1.7 } },
  { pages: 4_000, goals: { tuned: 0.85, plain: 2 } },
];
const names = ['tuned', 'plain', 'library', 'command'] as const;
type Name = (typeof names)[number];
type Wholes = Readonly<Record<Name, Whole[]>>;

/**
 * Whole processes, cold, as people start them: the command and the library against two scripts, the fastest and the usual
 * one. The server is warm, and its pages are made before anybody asks for them.
 */
export const wholes: Work = async ({ rounds, folder }) => {
  const figures: Figure[] = [];
  for (const texts of ['ascii', 'alphabets'] as const) {
    const small = await measured({ pages: 1, parts: 1, latency: 0, texts }, rounds, folder);
    for (const { pages, goals } of sizes) {
      const large = await measured({ pages, parts: 1, latency: 0, texts, isReady: true }, rounds, folder);
      figures.push(
        ...figuresOf(large, small, { goals, what: `${String((pages * rowsPerPage) / 1_000)},000 rows, ${texts}` }),
      );
    }
  }
  return figures;
};

function figuresOf(large: Wholes, small: Wholes, { goals, what }: { goals: Goals; what: string }): readonly Figure[] {
  const speed = (one: Name, other: Name): number[] =>
    large[one].map(({ ms }, round) => (large[other][round]?.ms ?? NaN) / ms);
  const work = (name: string): string => `${name}, whole process, ${what}`;
  const net = (name: Name, round: number): number =>
    (large[name][round]?.cpu ?? NaN) - (small[name][round]?.cpu ?? NaN);
  const command = work('sluice nfts export');
  const library = work('the library in ten lines');
  return [
    figureOf(
      { work: command, against: 'a tuned script of undici', unit: 'x', goal: { atLeast: goals.tuned } },
      speed('command', 'tuned'),
    ),
    figureOf(
      { work: command, against: 'a script of axios and csv-stringify', unit: 'x', goal: { atLeast: goals.plain } },
      speed('command', 'plain'),
    ),
    figureOf(
      { work: library, against: 'a tuned script of undici', unit: 'x', goal: { atLeast: 0.95 } },
      speed('library', 'tuned'),
    ),
    figureOf(
      { work: `CPU without the start: ${command}`, against: 'the library', unit: 'x', goal: { atMost: 1.05 } },
      large.command.map((_, round) => net('command', round) / net('library', round)),
    ),
    figureOf(
      {
        work: `peak memory: ${command}`,
        against: 'a script of axios and csv-stringify',
        unit: 'x',
        goal: { atMost: 1.2 },
      },
      large.command.map(({ peakRss }, round) => peakRss / (large.plain[round]?.peakRss ?? NaN)),
    ),
  ];
}

/** All of them in turns, with one server. The first round is not counted. */
async function measured(served: ServedPages, rounds: number, folder: string): Promise<Wholes> {
  const server = fork(here('../server/pageServer.ts'), [JSON.stringify(served)]);
  try {
    const [{ url, owners }]: [ServerAddress] = (await once(server, 'message')) as [ServerAddress];
    const [owner = ''] = owners;
    // Certificates of the machine's own would cost each process some 30 ms, and so make all of them look alike.
    const plain = { ...process.env, NODE_EXTRA_CA_CERTS: undefined };
    const env = { ...plain, SLUICE_API_KEY: apiKey, SLUICE_APTOS_URL: url };
    const path = join(folder, 'whole.csv');
    const script = (name: string): string[] => [here(`../wholes/${name}.js`), `${url}/`, owner, apiKey, path];
    const command = [here('../../packages/cli/dist/bin.js'), 'nfts', 'export', '--owner', owner, '--to', path];
    const starts: Readonly<Record<Name, readonly string[]>> = {
      tuned: script('tuned'),
      plain: script('plain'),
      library: script('library'),
      command: [...command, '--rate', 'unlimited'],
    };
    const wholes: Record<Name, Whole[]> = { tuned: [], plain: [], library: [], command: [] };
    for (let round = 0; round <= rounds; round += 1)
      for (const name of names) {
        rmSync(path, { force: true });
        const whole = await wholeProcess(starts[name], env);
        const rows = rowsIn(path);
        if (rows !== served.pages * rowsPerPage) throw new Error(`${name} has ${rows} rows.`);
        if (round > 0) wholes[name].push(whole);
      }
    return wholes;
  } finally {
    server.disconnect();
  }
}

/** The records of a file: those with the numbers that the server assigned. */
function rowsIn(path: string): number {
  return new Set(readFileSync(path, 'latin1').match(/\b1\d{11}\b/g)).size;
}

function here(file: string): string {
  return fileURLToPath(new URL(file, import.meta.url));
}
