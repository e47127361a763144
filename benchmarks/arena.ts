import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gunzipSync } from 'node:zlib';
import type { Job } from './contestants/contestant.js';
import { rowsPerPage, type ServedPages, type ServerAddress } from './server/servedPages.js';

/** The cost of a job. */
export interface Effort {
  readonly rows: number;
  readonly ms: number;
  /** Ms of CPU of all threads. */
  readonly cpu: number;
  /** Bytes since the start of the process. */
  readonly peakRss: number;
}

/** A contestant: a file of `contestants`, and its changes to the common job. */
export interface Entrant extends Partial<
  Pick<Job, 'format' | 'concurrency' | 'isKept' | 'isShown' | 'isGrouped' | 'database'>
> {
  readonly file: string;
  /** How many of the server's wallets it fetches. Default: all of them. */
  readonly wallets?: number;
  /** Limit of its heap in MiB. Default: Node's. */
  readonly heap?: number;
}

/** The settings of a competition. */
export interface ArenaOptions {
  readonly rounds: number;
  /** The folder for their files. */
  readonly folder: string;
  /** Whether a warm-up round precedes, which is not counted and in which the files are checked. Default `true`. */
  readonly isWarm?: boolean;
  /**
   * Whether all of them run in one process, for jobs of the same file: they then share the compiled code, which makes a
   * difference of a few percent visible. Default `false`.
   */
  readonly inOneProcess?: boolean;
}

/** The costs of each contestant, by round. */
export type Efforts<Name extends string> = Readonly<Record<Name, readonly Effort[]>>;

/** Files with more rows are not read back. */
const maxLookedAt = 200_000;

/**
 * Lets contestants do the same work in turns, A B A B, each in a process of its own (or all in one) and all with one
 * server, so that disturbances of the machine affect all of them.
 *
 * @throws Error if one has not written all rows, or if contestants that cannot share a process should.
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
      const {
        format = 'csv',
        concurrency = 1,
        isKept = true,
        isShown = false,
        isGrouped = false,
        wallets,
        database,
      } = entrants[name];
      const child = (inOneProcess ? processes[0] : undefined) ?? begin(entrants[name]);
      const owners = address.owners.slice(0, wallets);
      const path = join(folder, `${nth}.${format}`);
      const job: Job = {
        ...address,
        owners,
        format,
        concurrency,
        isKept,
        isShown,
        isGrouped,
        path,
        ...(database !== undefined && { database }),
      };
      return { name, child, job };
    });
    for (let round = isWarm ? 0 : 1; round <= rounds; round += 1) {
      for (const { name, child, job } of runs) {
        const effort = await effortOf(child, job);
        const { pages, large = pages } = served;
        const expected = (large + pages * (job.owners.length - 1)) * rowsPerPage;
        const isFile = /^(csv|jsonl)/.test(job.format);
        const written = round === 0 && isFile && expected <= maxLookedAt ? rowsIn(job) : expected;
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

/** The number of records in a file: those with the numbers that the server assigned. */
function rowsIn({ path, format }: Job): number {
  const bytes = readFileSync(path);
  const text = (format === 'csv.gz' ? gunzipSync(bytes) : bytes).toString('utf8');
  return new Set(text.match(/\b1\d{11}\b/g)).size;
}

function here(file: string): string {
  return fileURLToPath(new URL(file, import.meta.url));
}
