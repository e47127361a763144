import { identity } from 'rxjs';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { exportTo, memoryState, type Json, type Sink } from '../../src/index.js';
import { byCursor, byOffset, listing, type Listing } from '../../src/define/index.js';
import type { ArrayFormat } from '../../src/kit.js';
import { compareSettings, hashPlan } from '../../src/rows/export/findCheckpoint.js';
import { numbered, openListing, serve } from './servedApi.js';

interface Params {
  readonly coin: string;
}

const definition = {
  path: '/items',
  rows: 'items',
  columns: ['id'] as const,
  query: ({ coin }: Params) => ({ coin, day: 'today' }),
  pageSize: { param: 'limit', default: 2 },
  paging: byOffset({ param: 'offset' }),
  schema: z.object({ id: z.number() }),
  version: '1',
  key: ({ id }: { id: number }) => String(id),
};

const asked = { coin: 'btc' };
const baseUrl = 'https://api.example.com';

function infoOf(
  items: Listing<{ id: number }, Params>,
  options: Params & { maxRows?: number; pageSize?: number } = asked,
  arrays: ArrayFormat = 'brackets',
  address = baseUrl,
) {
  return openListing(items, { baseUrl: address, arrays })(options).info;
}

describe('E6 another plan', () => {
  test.each<[string, Partial<typeof definition>, string]>([
    ['way to go on', { paging: byCursor({ param: 'after', at: 'next' }) }, 'paging'],
    ['path', { path: '/all' }, 'path or a parameter in it'],
    ['parameter', { query: ({ coin }) => ({ coin, day: 'tomorrow' }) }, 'day'],
    ['path of the rows', { rows: 'items?' }, 'path of the rows'],
  ])('is told by another %s in words for people', async (_, change, name) => {
    const [before, now] = await Promise.all([settingsOf(definition), settingsOf({ ...definition, ...change })]);
    expect(compareSettings(before, now)).toEqual([name]);
  });

  test('is told by what its sink writes, or a source of its own asks for, where that has no name', async () => {
    const written = [await settingsOf(definition), await settingsOf(definition, 'other')] as const;
    expect(compareSettings(...written)).toEqual(['what the sink writes']);
    const asked = ['one', 'two'].map((identity) => hashPlan({ name: 'own', identity, partitions: 1 }, sinkOf(null)));
    const [one, two] = await Promise.all(asked);
    expect(compareSettings(one?.settings ?? {}, two?.settings ?? {})).toEqual(['the request']);
  });

  test.each<[string, () => ReturnType<typeof infoOf>]>([
    ['parameter', () => infoOf(listing(definition), { coin: 'eth' })],
    ['bound', () => infoOf(listing(definition), { ...asked, maxRows: 5 })],
    ['base URL', () => infoOf(listing(definition), asked, 'brackets', 'https://other.example.com')],
    ['way to write arrays', () => infoOf(listing(definition), asked, 'repeat')],
    ['path', () => infoOf(listing({ ...definition, path: '/all' }))],
    ['query', () => infoOf(listing({ ...definition, query: ({ coin }: Params) => ({ coin }) }))],
    ['path of the rows', () => infoOf(listing({ ...definition, rows: 'items?' }))],
    ['version', () => infoOf(listing({ ...definition, version: '2' }))],
  ])('comes of another %s, for exports and for watches', (_what, change) => {
    const plain = infoOf(listing(definition));
    const other = change();
    expect(other.identity).not.toEqual(plain.identity);
    expect(other.rowsIdentity).not.toEqual(plain.rowsIdentity);
  });

  test.each<[string, () => ReturnType<typeof infoOf>]>([
    ['page size', () => infoOf(listing(definition), { ...asked, pageSize: 7 })],
    ['kind of paging', () => infoOf(listing({ ...definition, paging: byCursor({ param: 'offset', at: 'next' }) }))],
  ])('comes of another %s for exports, and is the same watch', (_what, change) => {
    const plain = infoOf(listing(definition));
    const other = change();
    expect(other.identity).not.toEqual(plain.identity);
    expect(other.rowsIdentity).toEqual(plain.rowsIdentity);
  });

  test('of rows that an operator changes comes of the same, and of its version', () => {
    const piped = (version: string, options: { pageSize?: number; coin?: string } = {}) =>
      openListing(listing(definition), { baseUrl })({ ...asked, ...options }).pipePages(identity, { version }).info;
    const { rowsIdentity } = piped('1');
    expect(rowsIdentity).toBeDefined();
    expect(rowsIdentity).not.toEqual(infoOf(listing(definition)).rowsIdentity);
    expect(piped('1', { pageSize: 7 }).rowsIdentity).toEqual(rowsIdentity);
    expect(piped('1', { coin: 'eth' }).rowsIdentity).not.toEqual(rowsIdentity);
    expect(piped('2').rowsIdentity).not.toEqual(rowsIdentity);
  });

  test('does not come of the same, asked for again', () => {
    const plain = infoOf(listing(definition));
    const again = infoOf(listing({ ...definition, schema: z.object({ id: z.number() }) }));
    expect(again.identity).toEqual(plain.identity);
    expect(again.rowsIdentity).toEqual(plain.rowsIdentity);
    expect(JSON.parse(JSON.stringify(plain.identity))).toEqual(plain.identity);
  });

  test('comes of other parts, or of the same in another order, unless the definition says that they are the same rows', () => {
    const partitions = ({ coin }: Params) => [...coin].map((letter) => ({ letter }));
    const query = ({ letter }: { letter: string }) => ({ letter });
    const listed = listing({ ...definition, partitions, query });
    expect(infoOf(listed, { coin: 'ab' }).rowsIdentity).not.toEqual(infoOf(listed, { coin: 'ba' }).rowsIdentity);
    const same = listing({ ...definition, partitions, query, rowsIdentity: ({ coin }: Params) => [...coin].sort() });
    expect(infoOf(same, { coin: 'ab' }).rowsIdentity).toEqual(infoOf(same, { coin: 'ba' }).rowsIdentity);
    expect(infoOf(same, { coin: 'ab' }).identity).not.toEqual(infoOf(same, { coin: 'ba' }).identity);
  });

  test.each<[string, object[], object[]]>([
    ['a value of the last partition', [{ a: '1' }, { a: '2' }], [{ a: '1' }, { a: '3' }]],
    ['the order of partitions', [{ a: '1' }, { a: '2', b: '1' }], [{ a: '2', b: '1' }, { a: '1' }]],
    ['which partition has a parameter', [{ a: '1', b: '1' }, { a: '2' }], [{ a: '1' }, { a: '2', b: '1' }]],
    ['which parameter a value is of', [{ a: '1' }, { b: '2' }], [{ b: '1' }, { a: '2' }]],
    ['one partition more', [{ a: '1' }, { a: '2' }], [{ a: '1' }, { a: '2' }, { a: '3' }]],
  ])('comes of %s', (_what, before, now) => {
    const identityOf = (values: readonly object[]) =>
      infoOf(
        listing({
          ...definition,
          partitions: () => values,
          query: (params: { a?: string; b?: string }) => ({ ...params }),
        }),
      ).identity;
    expect(identityOf(now)).not.toEqual(identityOf(before));
    expect(identityOf([...before])).toEqual(identityOf(before));
  });

  test('is refused, with the names of what changed', async () => {
    const { baseUrl: url } = await serve(({ searchParams }, nth) =>
      nth === 2
        ? { status: 404 }
        : {
            body: {
              items: numbered(6).slice(Number(searchParams.get('offset')), Number(searchParams.get('offset')) + 3),
            },
          },
    );
    const state = memoryState();
    const run = (version: string, coin: string): Promise<unknown> =>
      exportTo(openListing(listing({ ...definition, version }), { baseUrl: url })({ coin }), sinkOf(null), {
        state,
        commitEvery: 1,
      }).run();
    await expect(run('1', 'btc')).rejects.toMatchObject({ code: 'http' });
    await expect(run('2', 'eth')).rejects.toMatchObject({
      code: 'checkpoint',
      details: { changed: ['coin', 'version'] },
    });
    await expect(run('1', 'btc')).resolves.toMatchObject({ rows: 6 });
  });
});

function sinkOf(identity: Json): Sink<object> {
  return { name: 'test', target: 'x', identity, delivery: 'exactly-once', open: openNothing };
}

async function settingsOf(
  described: typeof definition,
  identity: Json = null,
): Promise<Readonly<Record<string, string>>> {
  return (await hashPlan(infoOf(listing(described)), sinkOf(identity))).settings;
}

/** Keeps nothing. */
async function openNothing() {
  return {
    start: 0,
    write: async () => undefined,
    flush: async () => 0,
    seal: async () => 0,
    close: async () => ({ target: 'x' }),
    suspend: async () => ({ target: 'x' }),
    abort: async () => undefined,
  };
}
