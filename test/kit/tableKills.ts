import { setTimeout as delay } from 'node:timers/promises';
import type { Sandbox } from '@sluice/sandbox';
import type { Random } from './random.js';

/** An export in a process of its own. */
export interface ExportProcess {
  readonly kill: () => void;
  /** The code is `null` after a signal. */
  readonly ended: Promise<{ readonly code: number | null; readonly stderr: string }>;
}

export interface TableKills {
  /** The API that it exports. */
  readonly sandbox: Sandbox;
  readonly random: Random;
  readonly start: () => ExportProcess;
  /** Called shortly before some of the kills. */
  readonly disturb?: () => Promise<void>;
  /** Called after each run, with the number of requests before it. */
  readonly onEnd?: (requestsBefore: number) => void | Promise<void>;
}

/** Requests after which a process is killed, at most, and ms after that. */
const mostRequests = 25;
const mostMs = 15;

/** Kills an export at random moments, and runs it again until it is done. @returns the number of kills. */
export async function killUntilDone({ sandbox, random, start, disturb, onEnd }: TableKills): Promise<number> {
  for (let killed = 0; ;) {
    const before = sandbox.counts.requests;
    const { kill, ended } = start();
    const someRequests = () => {
      const until = sandbox.counts.requests + random.int(1, mostRequests);
      return Promise.race([sandbox.until(() => sandbox.counts.requests >= until), ended]);
    };
    let outcome = await someRequests();
    if (outcome === undefined && disturb && random.chance(0.3)) {
      await disturb();
      // Some go on by themselves.
      if (random.chance(0.5)) outcome = await someRequests();
    }
    if (outcome === undefined) {
      // A transaction begins somewhat after a request.
      await delay(random.int(0, mostMs));
      kill();
    }
    const { code, stderr } = await ended;
    await onEnd?.(before);
    if (code === 0) return killed;
    if (code === null) killed += 1;
    else throw new Error(`Run again after ${killed} kills: ${stderr}`);
  }
}

const key = 'owner_address, token_data_id_hash, property_version';

/** A query of how many holdings a table has, and how many different ones. */
export function holdingsIn(table: string): string {
  return `SELECT (SELECT count(*) FROM ${table}) || ' ' || (SELECT count(*) FROM (SELECT DISTINCT ${key} FROM ${table}) AS rows) AS counts`;
}
