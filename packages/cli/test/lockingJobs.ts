import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Receiver, Sandbox } from '@sluice/sandbox';
import { readCsv } from '../../exporters/test/readCsv.js';
import { forwardArgs, forwardTo, secret } from './forwarding.js';
import { exportArgs } from './interruptedExport.js';
import { readTable } from './readTable.js';
import { brokenLinks, changesInFile, folded, listed, watchArgs } from './watching.js';

/** What a command reads and writes. */
export interface World {
  readonly sandbox: Sandbox;
  readonly receiver: Receiver;
  /** Where it runs. */
  readonly folder: string;
}

/** A command that locks its target. */
export interface LockingJob {
  readonly args: (world: World) => string[];
  /** It is in the middle of it. */
  readonly isUnderWay: (world: World) => boolean;
  /** The target has each row once, after however many runs. */
  readonly isComplete: (world: World) => boolean;
}

const letters = 200;

const fetches = ({ sandbox }: World): boolean => sandbox.counts.requests > 8;
const delivers = ({ receiver }: World): boolean => receiver.accepted.size > 8;

export const lockingJobs: Readonly<Record<string, LockingJob>> = {
  'an export into CSV': {
    args: ({ sandbox }) => exportArgs(sandbox, 'out.csv'),
    isUnderWay: fetches,
    isComplete: ({ sandbox, folder }) => {
      const rows = readCsv(readFileSync(join(folder, 'out.csv'), 'utf8')).map((cells) => JSON.stringify(cells));
      return rows.length === 1 + rowCount(sandbox) && new Set(rows).size === rows.length;
    },
  },
  'a watch into JSON Lines': {
    args: () => watchArgs('--to', 'out.jsonl', '--polls', '30'),
    isUnderWay: fetches,
    isComplete: ({ sandbox, folder }) => {
      const changes = changesInFile(join(folder, 'out.jsonl'));
      const isSame = JSON.stringify(folded(changes)) === JSON.stringify(listed(sandbox));
      return isSame && brokenLinks(changes).length === 0;
    },
  },
  'an export into SQLite': {
    args: ({ sandbox }) => exportArgs(sandbox, 'out.sqlite'),
    isUnderWay: fetches,
    isComplete: ({ sandbox, folder }) =>
      readTable(join(folder, 'out.sqlite'), 'SELECT count(*) FROM out').join() === String(rowCount(sandbox)),
  },
  'an export to a webhook': {
    args: ({ sandbox, receiver }) => forwardArgs(sandbox, receiver, '--quiet'),
    isUnderWay: delivers,
    isComplete: ({ sandbox, receiver }) => receiver.accepted.size === rowCount(sandbox),
  },
  'a replay of dead letters': {
    args: ({ receiver }) => ['dlq', 'replay', 'dead.jsonl', ...forwardTo(receiver, '--to'), '--quiet'],
    isUnderWay: delivers,
    isComplete: ({ receiver }) => receiver.accepted.size === letters,
  },
};

/** Puts a secret and dead letters, as an export writes them, into a folder. Returns it. */
export function prepareFolder(folder: string): string {
  const lines = Array.from({ length: letters }, (_, n) => {
    const record = { id: `record-${n}`, type: 'test.row', sequence: n, data: { n } };
    const { id } = record;
    const at = '2024-02-29T12:00:00.000Z';
    return JSON.stringify({ id, key: id, attempts: 1, status: 422, answer: 'no', at, run: 'run', record });
  });
  writeFileSync(join(folder, 'secret'), `${secret}\n`);
  writeFileSync(join(folder, 'dead.jsonl'), `${lines.join('\n')}\n`, { mode: 0o600 });
  return folder;
}

function rowCount(sandbox: Sandbox): number {
  return [...sandbox.holdingsOf(sandbox.owners)].length;
}
