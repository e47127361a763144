import { statSync } from 'node:fs';
import { join } from 'node:path';
import { createSource, exportTo, watch } from '@sluice/core';
import { postgresMirror } from '@sluice/tables/postgres';
import { sqliteMirror, type Mirror } from '@sluice/tables/sqlite';
import { postgresPrograms, startPostgres } from '../../test/kit/postgresServer.js';
import { figureOf, type Figure } from '../figures/figure.js';
import type { Work } from './work.js';

const rowsOfPage = 1_000;

interface Row {
  readonly id: string;
  readonly tag: string;
  readonly status: string;
}

/** A table that follows a watch. */
interface Target {
  readonly mirror: () => Mirror<Row>;
  readonly bytes: () => Promise<number>;
}

/** Generations of a history of many rows, of which 1 % change, and those of a mirror: how long they take, and their space. */
export const histories: Work = async ({ rounds, maxRows, folder }) => {
  const server = postgresPrograms === undefined ? undefined : await startPostgres();
  const targetIn = async (database: string, mode: 'history' | 'mirror'): Promise<Target> => {
    const table = { table: 'rows', mode, key: ['id'] };
    const path = join(folder, `${mode}.sqlite`);
    if (database === 'SQLite')
      return {
        mirror: () => sqliteMirror({ path, ...table }),
        bytes: () => Promise.resolve(statSync(path, { throwIfNoEntry: false })?.size ?? 0),
      };
    const opened = await server?.open();
    const { url = '' } = opened ?? {};
    const size = 'SELECT pg_database_size(current_database())';
    return { mirror: () => postgresMirror({ url, ...table }), bytes: async () => Number(await opened?.query(size)) };
  };
  try {
    const figures: Figure[] = [];
    for (const database of ['SQLite', ...(server ? ['PostgreSQL'] : [])])
      for (const mode of ['history', 'mirror'] as const) {
        const { mirror, bytes } = await targetIn(database, mode);
        const empty = await bytes();
        await follow(mirror(), maxRows, { first: 0, polls: 1 });
        const before = await bytes();
        const times = await follow(mirror(), maxRows, { first: 1, polls: rounds });
        const of = `a ${mode} of ${maxRows.toLocaleString('en')} rows in ${database}`;
        const size = { against: 'the whole database', unit: 'MiB' } as const;
        figures.push(
          figureOf({ work: `time to write a poll of ${of}`, against: '1 % changed', unit: 'ms' }, times),
          figureOf({ work: `size of ${of}`, ...size }, [(before - empty) / 2 ** 20]),
          figureOf({ work: `growth per poll of ${of}`, ...size }, [((await bytes()) - before) / rounds / 2 ** 20]),
        );
      }
    return figures;
  } finally {
    await server?.close();
  }
};

/** Returns ms from the end of each walk to the next one, when its changes are committed. */
async function follow(
  mirror: Mirror<Row>,
  count: number,
  { first, polls }: { readonly first: number; readonly polls: number },
): Promise<readonly number[]> {
  const times: number[] = [];
  let poll = first - 1;
  let ended: number | undefined;
  const written = (): void => {
    if (ended !== undefined) times.push(performance.now() - ended);
  };
  const source = createSource<Row>({
    name: 'rows',
    identity: null,
    schema: { columns: ['id', 'tag', 'status'], key: ({ id }) => id },
    fetch({ walked: { pages } }) {
      if (pages === 0) {
        written();
        poll += 1;
      }
      const isLast = (pages + 1) * rowsOfPage >= count;
      if (isLast) ended = performance.now();
      const rows = Array.from({ length: rowsOfPage }, (_, nth) => rowOf(pages * rowsOfPage + nth, poll));
      return Promise.resolve({ rows, next: isLast ? 'end' : { cursor: String(pages + 1) } });
    },
  });
  const watched = watch(source, { every: 1, polls, confirmations: 1, state: mirror.state });
  await exportTo(watched, mirror).run();
  written();
  return times;
}

function rowOf(nth: number, poll: number): Row {
  // Each poll changes other rows.
  const status = nth % 100 < poll ? `status ${Math.ceil((poll - (nth % 100)) / 100)}` : 'active';
  return { id: `id ${nth}`, tag: `a stream of some name, with the number ${nth}`, status };
}
