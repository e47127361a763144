import { byCursor, defineApi, exportTo, listing, rateLimitHeaders, rowOf } from '@sluice/core';
import { fileState } from '@sluice/core/node';
import { csv } from '@sluice/exporters/csv';
import { jsonl } from '@sluice/exporters/jsonl';
import { difference } from './difference.js';
import type { JobOf, RunningJob } from './jobs.js';
import type { Scenario } from './scenario.js';
import type { Apis } from './services.js';
import { addresses } from './services.js';
import { childrenOf, type Parent } from './shelf.js';

interface Row {
  readonly parent: number;
  readonly n: number;
  readonly text: string;
}

/** Exports the rows of all parents into a file, while parents come and go. */
export function childrenJob(job: JobOf<'children'>, { disk: { io }, api }: Scenario, apis: Apis): RunningJob {
  const { pageSize, parentsPerPage, parents, isSkipping, concurrency, commitEvery, format } = job;
  const path = `/data/rows.${format}`;
  const stateFolder = job.state === 'beside' ? `${path}.sluice` : '/data/state';
  const paging = byCursor({ param: 'cursor', at: 'next?' });
  const shelfApi = defineApi({
    name: 'shelf',
    ...(api.quota && { quota: rateLimitHeaders() }),
    sources: {
      parents: listing({
        ...{ path: '/parents', rows: 'items', columns: ['id'], key: ({ id }) => Number(id), paging },
        pageSize: { param: 'n', default: parentsPerPage, max: parentsPerPage },
      }),
      rows: listing<Row, { id: number }, object>({
        each: rowOf({
          source: 'parents',
          params: ({ id }: { id: number }) => ({ id }),
          fields: ({ id }) => ({ parent: id }),
          onPartitionError: isSkipping ? 'skip' : 'fail',
        }),
        path: ({ id }) => `/parents/${id}/rows`,
        ...{ rows: 'items', columns: ['parent', 'n', 'text'], paging, version: '1' },
        pageSize: { param: 'n', default: pageSize, max: pageSize },
      }),
    },
  });
  const wrong: string[] = [];
  /** Parents whose rows this export requested: it had recorded them by then. */
  const recorded = new Set<number>();
  apis.shelf.hold(parents);
  return {
    isPage: ({ pathname }) => childPath.test(pathname),
    onStart(disk) {
      // An export that ended without a commit has forgotten all.
      if (disk.text(`${stateFolder}/checkpoint`) === undefined) recorded.clear();
    },
    onSend({ pathname, searchParams }) {
      const [, id] = childPath.exec(pathname) ?? [];
      if (id !== undefined) {
        recorded.add(Number(id));
        return;
      }
      const after = Number(searchParams.get('cursor') ?? 0);
      const behind = [...recorded].filter((known) => known > after);
      if (behind.length > 0)
        wrong.push(`The parents behind ${after} were requested again, and ${behind[0]} was known.`);
    },
    async run({ client, fileSystem, processes, clock, signal }, { pages }) {
      const source = client.use(shelfApi({ baseUrl: addresses.shelf })).shelf.rows();
      const state = fileState(stateFolder, { fileSystem, processes, clock });
      const sink = format === 'csv' ? csv<Row>({ path, fileSystem }) : jsonl<Row>({ path, fileSystem });
      await exportTo(source, pages.before(sink), {
        ...{ state, concurrency, prefetch: 1, clock, ...(isSkipping && { onExpired: 'restart-partition' }) },
        ...(commitEvery !== undefined && { commitEvery }),
      }).run({ signal });
      return true;
    },
    judge(disk) {
      // What is said to be done stays so when the power goes.
      const durable = disk.restart('dropped');
      const missed = parents.filter(({ id, from, until }) => !from && until === undefined && !recorded.has(id));
      const text = durable.text(path) ?? '';
      // Who was gone by the end has no rows, or all of them: they may have been asked for before.
      const has = (parent: Parent): boolean =>
        recorded.has(parent.id) &&
        (parent.goneAt === undefined || text.includes(`row 0 of ${quoteOf(format)}${parent.id}${quoteOf(format)}`));
      const expected = textOf(
        parents.filter(has).toSorted((a, b) => a.id - b.id),
        format,
      );
      const kept = ['/data/', path, `${stateFolder}/`, `${stateFolder}/checkpoint`];
      const left = durable.paths().filter((name) => !kept.includes(name) && !name.startsWith(`${stateFolder}/lock-`));
      return [
        ...wrong,
        ...missed.map(({ id }) => `The parent ${id} was always listed, and its rows were not requested.`),
        ...(text === expected ? [] : [difference(text, expected)]),
        ...(left.length === 0 || io > 0 ? [] : [`Left behind: ${left.join(' ')}`]),
      ];
    },
  };
}

/** A quote within a text. */
function quoteOf(format: 'csv' | 'jsonl'): string {
  return format === 'csv' ? '""' : '\\"';
}

const childPath = /^\/shelf\/parents\/(\d+)\/rows$/;

/** The file with the rows of these parents. */
function textOf(parents: readonly Parent[], format: 'csv' | 'jsonl'): string {
  const header = format === 'csv' ? 'parent,n,text\r\n' : '';
  const lines = parents.flatMap((parent) =>
    childrenOf(parent).map(({ n, text }) =>
      format === 'csv'
        ? `${parent.id},${n},"${text.replaceAll('"', '""')}"\r\n`
        : `${JSON.stringify({ n, text, parent: parent.id })}\n`,
    ),
  );
  return header + lines.join('');
}
