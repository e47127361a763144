import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gunzipSync } from 'node:zlib';
import type { Job } from './contestants/contestant.js';
import { rowsPerPage, type ServedPages, type ServerAddress } from './server/servedPages.js';

/** What a job took. */
export interface Effort {
  readonly rows: number;
  readonly ms: number;
  /** Ms of CPU, of all threads. */
  readonly cpu: number;
  /** Bytes, since the process began. */
  readonly peakRss: number;
}

/** One that takes part: a file of `contestants`, and what its job is beyond the others'. */
export interface Entrant extends Partial<Pick<Job, 'format' | 'concurrency' | 'isKept'>> {
  readonly file: string;
  /** How many of the server's wallets are its work. Default: all of them. */
  readonly wallets?: number;
  /** Most MiB of its heap. Default: as much as Node allows. */
  readonly heap?: number;
}

/** How a competition is held. */
export interface ArenaOptions {
  readonly rounds: number;
  /** Where they write. */
  readonly folder: string;
  /** Whether a round before is not counted: it warms up, and what was written is looked at. Default `true`. */
  readonly isWarm?: boolean;
  /**
   * Whether all of them run in one process, for jobs of the same file: what a compiler has made of the code is then the same for all, and a
   * difference of a few percent shows. Default `false`.
   */
  readonly inOneProcess?: boolean;
}

/** What each one took, by round. */
export type Efforts<Name extends string> = Readonly<Record<Name, readonly Effort[]>>;

/** Files of more rows are not read again. */
const maxLookedAt = 200_000;

/**
 * Lets contestants do the same work in turn, A B A B, each in a process of its own (or all in one) and all with one server, so that what the machine does
 * besides hits all of them.
 *
 * @throws Error if one has not written all rows, or if what can't share a process should.
 */
export async function compete<Name extends string>(
  entrants: Readonly<Record<Name, Entrant>>,
  served: ServedPages,
  { rounds, folder, isWarm = true, inOneProcess = false }: ArenaOptions,
): Promise<Efforts<Name>> {
  const all: readonly Entrant[] = Object.values(entrants);
  if (inOneProcess && all.some(({ file, heap }) => file !== all[0]?.file || heap !== all[0].heap))
    throw new Error('Only jobs of the same file and heap can share a process.');
  const server = fork(here('server/pageServer.ts'), [JSON.stringify(served)]);
  const processes: ChildProcess[] = [];
  try {
    const [address]: [ServerAddress] = (await once(server, 'message')) as [ServerAddress];
    const names = Object.keys(entrants) as Name[];
    const efforts = Object.fromEntries(names.map((name) => [name, []])) as unknown as Record<Name, Effort[]>;
    const begin = ({ file, heap }: Entrant): ChildProcess => {
      const child = fork(here('contestant.ts'), [`./contestants/${file}.js`], {
        execArgv: [...process.execArgv, ...(heap === undefined ? [] : [`--max-old-space-size=${heap}`])],
      });
      processes.push(child);
      return child;
    };
    const runs = names.map((name, nth) => {
      const { format = 'csv', concurrency = 1, isKept = true, wallets } = entrants[name];
      const child = (inOneProcess ? processes[0] : undefined) ?? begin(entrants[name]);
      const owners = address.owners.slice(0, wallets);
      const path = join(folder, `${nth}.${format}`);
      const job: Job = { ...address, owners, format, concurrency, isKept, path };
      return { name, child, job };
    });
    for (let round = isWarm ? 0 : 1; round <= rounds; round += 1) {
      for (const { name, child, job } of runs) {
        const effort = await effortOf(child, job);
        const expected = served.pages * job.owners.length * rowsPerPage;
        const written = round === 0 && job.format !== 'none' && expected <= maxLookedAt ? rowsIn(job) : expected;
        if (effort.rows !== expected || written !== expected)
          throw new Error(`${name} has ${effort.rows} rows and wrote ${written}, not ${expected}.`);
        if (round > 0) efforts[name].push(effort);
      }
    }
    return efforts;
  } finally {
    for (const child of [...processes, server]) child.disconnect();
  }
}

async function effortOf(child: ChildProcess, job: Job): Promise<Effort> {
  child.send(job);
  const told = new AbortController();
  const { signal } = told;
  try {
    const said = await Promise.race([once(child, 'message', { signal }), once(child, 'exit', { signal })]);
    if (typeof said[0] === 'object') return said[0] as Effort;
    throw new Error('A contestant ended before its job was done.');
  } finally {
    told.abort();
  }
}

/** How many records are in a file: the numbers that the server gave each row. */
function rowsIn({ path, format }: Job): number {
  const bytes = readFileSync(path);
  const text = (format === 'csv.gz' ? gunzipSync(bytes) : bytes).toString('utf8');
  return new Set(text.match(/\b0\d{11}\b/g)).size;
}

function here(file: string): string {
  return fileURLToPath(new URL(file, import.meta.url));
}
