import { exportTo } from '@sluice/core';
import { byCursor, byPage, defineApi, listing, onePage, rateLimitHeaders, rowOf } from '@sluice/core/define';
import { fileState } from '@sluice/core/node';
import { csv } from '@sluice/exporters/csv';
import { jsonl } from '@sluice/exporters/jsonl';
import { isLock } from './isLock.js';
import type { JobOf, RunningJob } from './job.js';
import type { Scenario } from './scenario.js';
import type { Apis } from './services.js';
import { addresses } from './services.js';
import { type Child, type Parent, roomOf, stableChildrenOf } from './shelf.js';

interface Row {
  readonly parent: number;
  readonly n: number;
  readonly text: string;
}

/** Exports the rows of all parents into a file, while parents and rows come, change and go. */
export function childrenJob(job: JobOf<'children'>, { disk: { io }, api }: Scenario, apis: Apis): RunningJob {
  const { pageSize, parentsPerPage, parents, roomSize, end, isSkipping, concurrency, commitEvery, format } = job;
  const path = `/data/rows.${format}`;
  const stateFolder = job.state === 'beside' ? `${path}.sluice` : '/data/state';
  const paging = byCursor({ param: 'cursor', at: 'next?' });
  const ends = {
    'short-page': { paging: byPage({ param: 'page' }), until: 'short-page' },
    'no-rows': { paging, until: 'no-rows' },
    'repeated-page': { paging: byPage({ param: 'page' }), until: 'repeated-page', total: 'total' },
    'one-page': { paging: onePage() },
  } as const;
  const ofParents = {
    rows: 'items',
    paging,
    pageSize: { param: 'n', default: parentsPerPage, max: parentsPerPage },
  } as const;
  // Its page has all rows of a parent, and could have one more.
  const size = end === 'one-page' ? longestListing(parents) + 1 : pageSize;
  const shelfApi = defineApi({
    name: 'shelf',
    ...(api.quota && { quota: rateLimitHeaders() }),
    sources: {
      rooms: listing({ ...ofParents, path: '/rooms', columns: ['id'], key: ({ id }) => Number(id) }),
      parents:
        roomSize === undefined
          ? listing({ ...ofParents, path: '/parents', columns: ['id'], key: ({ id }) => Number(id) })
          : listing({
              ...ofParents,
              each: rowOf({ source: 'rooms', params: ({ id }: { id: number }) => ({ room: id }) }),
              path: '/rooms/{room}/parents',
              columns: ['id'],
              // Each room counts its own.
              key: ({ nth }) => Number(nth),
              version: '1',
            }),
      rows: listing<Row, { id: number }, object>({
        each: rowOf({
          source: 'parents',
          params: ({ id }: { id: number }) => ({ id }),
        }),
        fields: { parent: '{id}' },
        path: '/parents/{id}/rows',
        ...(isSkipping && { responses: { 404: 'skip', 410: 'skip' } }),
        rows: 'items',
        columns: ['parent', 'n', 'text'],
        ...(end === undefined ? { paging } : ends[end]),
        version: '1',
        pageSize: { param: 'n', default: size, max: size },
      }),
    },
  });
  const wrong: string[] = [];
  /** Parents whose rows this export requested: it had recorded them by then. */
  const recorded = new Set<number>();
  /** Rooms whose parents it requested. */
  const recordedRooms = new Set<number>();
  apis.shelf.hold(parents, { roomSize, end });
  /** Where each line that this export was sent stands in the file. */
  const sent = new Map<string, Place>();
  const wrongIn = (text: string): readonly string[] => {
    const [header, end] = format === 'csv' ? ['parent,n,text\r\n', '\r\n'] : ['', '\n'];
    const lines = text.slice(header.length).split(end);
    if (!text.startsWith(header) || lines.pop() !== '') return [`The file has no header, or no end: ${text}`];
    const places = lines.map((line) => sent.get(line));
    const unsent = lines.filter((line) => !sent.has(line));
    const unordered = lines.filter((_, nth) => nth > 0 && !isBefore(places[nth - 1], places[nth]));
    // Who was gone by the end has the rows of the pages that were asked for before: all, some or none.
    const lastOf = ({ id, goneAt }: Parent): number =>
      goneAt === undefined ? Infinity : Math.max(-1, ...places.map((place) => (place?.parent === id ? place.n : -1)));
    const written = new Set(lines);
    const missing = parents
      .filter(({ id }) => recorded.has(id))
      .flatMap((parent) =>
        stableChildrenOf(parent)
          .filter(({ n }) => n <= lastOf(parent))
          .map((child) => lineOf(parent.id, child, format)),
      )
      .filter((line) => !written.has(line));
    return [
      ...unsent.map((line) => `The file has a row that was not sent: ${line}`),
      ...unordered.map((line) => `The file has a row twice, or not in its place: ${line}`),
      ...missing.map((line) => `The file lacks a row that was always there: ${line}`),
    ];
  };
  return {
    isPage: ({ pathname }) => childPath.test(pathname),
    onStart(disk) {
      // An export that ended without a commit has forgotten all.
      if (disk.text(`${stateFolder}/checkpoint`) !== undefined) return;
      recorded.clear();
      recordedRooms.clear();
      sent.clear();
    },
    onAnswer({ pathname }, { status, body }) {
      const [, id] = childPath.exec(pathname) ?? [];
      if (id === undefined || status !== 200) return;
      const { items }: { items: readonly Child[] } = JSON.parse(body);
      for (const child of items) sent.set(lineOf(Number(id), child, format), { parent: Number(id), n: child.n });
    },
    onSend({ pathname, searchParams }) {
      const [, id] = childPath.exec(pathname) ?? [];
      if (id !== undefined) {
        recorded.add(Number(id));
        return;
      }
      const [, room] = roomPath.exec(pathname) ?? [];
      if (room !== undefined) recordedRooms.add(Number(room));
      const known = pathname === '/shelf/rooms' ? recordedRooms : recorded;
      const after = Number(searchParams.get('cursor') ?? 0);
      const isListed = (id: number): boolean => room === undefined || roomOf(id, roomSize ?? 1) === Number(room);
      const behind = [...known].find((id) => id > after && isListed(id));
      if (behind !== undefined)
        wrong.push(`${pathname} was requested from ${after} on again, and ${behind} was known.`);
    },
    async run({ client, fileSystem, claims, clock, signal }, { pages }) {
      const source = client.use(shelfApi({ baseUrl: addresses.shelf })).shelf.rows();
      const state = fileState(stateFolder, { fileSystem, claims, clock });
      const sink = format === 'csv' ? csv<Row>({ path, fileSystem }) : jsonl<Row>({ path, fileSystem });
      await exportTo(source, pages.before(sink), {
        state,
        concurrency,
        prefetch: 1,
        clock,
        ...(isSkipping && { onExpired: 'restart-partition' }),
        ...(commitEvery !== undefined && { commitEvery }),
      }).run({ signal });
      return true;
    },
    wrongInPlace(disk) {
      const text = disk.text(path);
      return text === undefined ? [] : wrongIn(text).map((wrong) => `Put in place: ${wrong}`);
    },
    judge(disk) {
      // What is said to be done stays so when the power goes.
      const durable = disk.restart('dropped');
      const missed = parents.filter(({ id, from, until }) => !from && until === undefined && !recorded.has(id));
      const kept = ['/data/', path, `${stateFolder}/`, `${stateFolder}/checkpoint`];
      const left = durable.paths().filter((name) => !kept.includes(name) && !isLock(name));
      return [
        ...wrong,
        ...missed.map(({ id }) => `The parent ${id} was always listed, and its rows were not requested.`),
        ...wrongIn(durable.text(path) ?? ''),
        ...(left.length === 0 || io > 0 ? [] : [`Left behind: ${left.join(' ')}`]),
      ];
    },
  };
}

function longestListing(parents: readonly Parent[]): number {
  return Math.max(...parents.map(({ rows }) => rows));
}

const roomPath = /^\/shelf\/rooms\/(\d+)\/parents$/;
const childPath = /^\/shelf\/parents\/(\d+)\/rows$/;

/** A row as the file has it, without the end of its line. */
function lineOf(parent: number, { n, text }: Child, format: 'csv' | 'jsonl'): string {
  return format === 'csv' ? `${parent},${n},"${text.replaceAll('"', '""')}"` : JSON.stringify({ n, text, parent });
}

/** Of a row: parents come in the order of their ids, and their rows in that of their numbers. */
interface Place {
  readonly parent: number;
  readonly n: number;
}

function isBefore(a: Place | undefined, b: Place | undefined): boolean {
  if (!a || !b) return true;
  return a.parent < b.parent || (a.parent === b.parent && a.n < b.n);
}
