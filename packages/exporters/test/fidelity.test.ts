// @module-tag slow
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { aptos, nftHoldingSchema, type NftHolding } from '@sluice/aptos';
import { createClient, exportTo, type Source } from '@sluice/core';
import { startSandbox } from '@sluice/sandbox';
import { evmStreamSchema, streams } from '@sluice/streams';
import { describe, expect, test } from 'vitest';
import { casesOf } from '../../../scripts/testEffort.js';
import { csv } from '../src/csv.js';
import { jsonl } from '../src/jsonl.js';
import { cellFor, fieldOf, readCsv } from './readCsv.js';
import { startSecondServer } from './secondServer.js';
import { temporaryFolder } from '../../../test/kit/temporaryFolder.js';

const many = casesOf(12_345);

/** A server that is exported from, and what it sends: rows as JSON texts. */
interface Origin extends AsyncDisposable {
  readonly aptosUrl: string;
  readonly streamsUrl: string;
  readonly apiKey: string;
  readonly owners: readonly string[];
  readonly holdings: readonly string[];
  readonly streams: readonly string[];
}

async function sandbox(count = many): Promise<Origin> {
  const started = await startSandbox({ holdings: count, nasty: 0.7, streams: 157, compress: true });
  const holdings = Array.from(started.holdingsOf(started.owners), (row) => JSON.stringify(row));
  return { ...started, holdings, streams: Array.from(started.streamRows(), (row) => JSON.stringify(row)) };
}

async function second(paging: 'cursor' | 'offset', count = many): Promise<Origin> {
  const started = await startSecondServer({ holdings: count, paging });
  return { ...started, aptosUrl: started.url, streamsUrl: started.url };
}

describe.each([
  ['the sandbox', sandbox],
  ['a server that pages by cursor', (count?: number) => second('cursor', count)],
  ['a server that pages by offset', (count?: number) => second('offset', count)],
])('from %s', (_name, start) => {
  test(`E11 every field of ${many} holdings of 3 owners comes back from a CSV as it was sent`, async () => {
    await using origin = await start();
    await using client = clientOf(origin);
    const path = join(temporaryFolder(), 'holdings.csv');
    const report = await exportTo(holdingsOf(client, origin), csv({ path, extra: true })).run();
    expect(report).toMatchObject({ rows: many, target: path, bytes: readFileSync(path).length });
    expect(readCsv(readFileSync(path, 'utf8'))).toEqual(tableOf(origin.holdings, nftHoldingSchema.columns));
  });

  test('E11 the formula guard changes no cell but those that a spreadsheet would run', async () => {
    await using origin = await start();
    await using client = clientOf(origin);
    const path = join(temporaryFolder(), 'holdings.csv');
    await exportTo(holdingsOf(client, origin), csv({ path, extra: true, guardFormulas: true })).run();
    const expected = tableOf(origin.holdings, nftHoldingSchema.columns).map((record) => record.map(guardedByHand));
    expect(readCsv(readFileSync(path, 'utf8'))).toEqual(expected);
    expect(expected.flat().filter((cell) => cell.startsWith("'")).length).toBeGreaterThan(many / 20);
  });

  test('E12 every holding comes back from JSON Lines as it was sent', async () => {
    await using origin = await start();
    await using client = clientOf(origin);
    const path = join(temporaryFolder(), 'holdings.jsonl');
    await exportTo(holdingsOf(client, origin), jsonl({ path })).run();
    const lines = readFileSync(path, 'utf8').split('\n');
    expect(lines.pop()).toBe('');
    const read = lines.map((line) => JSON.stringify(JSON.parse(line)));
    expect(read).toEqual(origin.holdings.map((text) => JSON.stringify(withTextAmount(text))));
  });

  test('E5 a compressed file unpacks to the bytes of a plain one', async () => {
    await using origin = await start(2_345);
    await using client = clientOf(origin);
    const folder = temporaryFolder();
    const holdings = holdingsOf(client, origin, 100);
    for (const sinkTo of [csv, jsonl]) {
      const plain = join(folder, `${sinkTo.name}.plain`);
      const packed = join(folder, `${sinkTo.name}.gz`);
      await exportTo(holdings, sinkTo({ path: plain })).run();
      const report = await exportTo(holdings, sinkTo({ path: packed })).run();
      expect(gunzipSync(readFileSync(packed)).equals(readFileSync(plain))).toBe(true);
      expect(report.bytes).toBe(readFileSync(packed).length);
    }
  });

  test('E11 every field of 157 streams comes back from a CSV as it was sent', async () => {
    await using origin = await start();
    await using client = clientOf(origin);
    const path = join(temporaryFolder(), 'streams.csv');
    await exportTo(client.streams.list({ pageSize: 50 }), csv({ path, extra: true })).run();
    expect(readCsv(readFileSync(path, 'utf8'))).toEqual(tableOf(origin.streams, evmStreamSchema.columns));
  });

  test('E12 every stream comes back from JSON Lines as it was sent', async () => {
    await using origin = await start();
    await using client = clientOf(origin);
    const path = join(temporaryFolder(), 'streams.jsonl');
    await exportTo(client.streams.list(), jsonl({ path })).run();
    const read = readFileSync(path, 'utf8').trimEnd().split('\n');
    expect(read.map((line) => JSON.stringify(JSON.parse(line)))).toEqual(
      origin.streams.map((text) => JSON.stringify(JSON.parse(text))),
    );
  });
});

type TestClient = ReturnType<typeof clientOf>;

function clientOf({ aptosUrl, streamsUrl, apiKey }: Origin) {
  return createClient({ apiKey, rateLimit: false })
    .use(aptos({ baseUrl: aptosUrl }))
    .use(streams({ baseUrl: streamsUrl }));
}

function holdingsOf(client: TestClient, { owners }: Origin, pageSize = 500): Source<NftHolding> {
  return client.aptos.nfts({ ownerAddresses: owners, pageSize });
}

/** The table that a CSV of these rows has to be, `extra` column included. */
function tableOf(texts: readonly string[], columns: readonly string[]): string[][] {
  return [
    [...columns, 'extra'],
    ...texts.map((text) => {
      const row = withTextAmount(text);
      const unknown = Object.entries(row).filter(([name]) => !columns.includes(name));
      const extra = unknown.length === 0 ? '' : JSON.stringify(Object.fromEntries(unknown));
      return [...columns.map((name) => cellFor(fieldOf(row, name))), extra];
    }),
  ];
}

/** The amount is text by the reference; a number becomes the text it was meant to be. */
function withTextAmount(text: string): object {
  const row: { amount?: unknown } = JSON.parse(text);
  if (typeof row.amount === 'number') row.amount = String(row.amount);
  return row;
}

/** The guard by its documentation, in other words than its own. */
function guardedByHand(cell: string): string {
  if (cell === '' || !'=+-@\t\r\n\0＝＋－＠'.includes(cell.charAt(0))) return cell;
  const isNumber = /^[+-][\d.e+-]+$/.test(cell) && Number.isFinite(Number(cell));
  return isNumber ? cell : `'${cell}`;
}
