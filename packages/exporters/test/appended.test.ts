import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createSource, exportTo } from '@sluice/core';
import { fileState } from '@sluice/core/node';
import { describe, expect, test } from 'vitest';
import { temporaryFolder } from '../../../test/kit/temporaryFolder.js';
import { csv, type CsvOptions } from '../src/csv.js';
import { jsonl, type JsonlOptions } from '../src/jsonl.js';
import { parquet } from '../src/parquet.js';

const source = createSource<object>({
  name: 'test.rows',
  identity: null,
  schema: { columns: ['id', 'name'] },
  fetch: () => Promise.resolve({ rows: [{ id: 2, name: 'b' }], next: 'end' }),
});

/** What a file has after a row was appended to it. */
async function csvAfter(before: string, options: Partial<CsvOptions> = {}): Promise<string> {
  const path = join(temporaryFolder(), 'rows.csv');
  writeFileSync(path, before);
  await exportTo(source, csv({ path, ifExists: 'append', ...options }), { state: fileState(`${path}.sluice`) }).run();
  return readFileSync(path, 'utf8');
}

async function jsonlAfter(before: string, options: Partial<JsonlOptions> = {}): Promise<string> {
  const path = join(temporaryFolder(), 'rows.jsonl');
  writeFileSync(path, before);
  await exportTo(source, jsonl({ path, ifExists: 'append', ...options }), { state: fileState(`${path}.sluice`) }).run();
  return readFileSync(path, 'utf8');
}

describe('D3 rows appended to a CSV', () => {
  test.each<[string, string, Partial<CsvOptions>]>([
    ['of the same columns', 'id,name\r\n1,a\r\n', {}],
    ['that has a byte order mark', '\uFEFFid,name\r\n1,a\r\n', {}],
    ['without rows', 'id,name\r\n', {}],
  ])('follow those of one %s, without another header', async (_, before, options) => {
    expect(await csvAfter(before, options)).toBe(`${before}2,b\r\n`);
  });

  test('follow columns that are chosen', async () => {
    expect(await csvAfter('name\r\na\r\n', { columns: ['name'] })).toBe('name\r\na\r\nb\r\n');
  });

  test.each<[string, string, RegExp]>([
    ['another column', 'id,name,note\r\n1,a,x\r\n', /begins with "id,name,note\\r", not with "id,name\\r"/],
    ['another order', 'name,id\r\na,1\r\n', /begins with "name,id\\r"/],
    ['other line ends', 'id,name\n1,a\n', /begins with "id,name", not with "id,name\\r"/],
    ['no header', '1,a\r\n', /begins with "1,a\\r"/],
    ['half a row', 'id,name\r\n1,', /ends within a row/],
  ])('are refused behind %s', async (_, before, message) => {
    await expect(csvAfter(before)).rejects.toThrow(message);
  });
});

describe('D3 rows appended to JSON Lines', () => {
  test.each([
    ['the same fields', '{"id":1,"name":"a"}\n'],
    ['further fields', '{"id":1,"name":"a","note":"x"}\n'],
    ['none', '{"id":1}\n'],
  ])('follow a row with %s', async (_, before) => {
    expect(await jsonlAfter(before)).toBe(`${before}{"id":2,"name":"b"}\n`);
  });

  test('follow chosen columns, and no others', async () => {
    expect(await jsonlAfter('{"name":"a"}\n', { columns: ['name'] })).toBe('{"name":"a"}\n{"name":"b"}\n');
    await expect(jsonlAfter('{"id":1,"name":"a"}\n', { columns: ['name'] })).rejects.toThrow(
      /has rows with other fields: "id, name"/,
    );
  });

  test.each<[string, string, RegExp]>([
    ['other rows', '{"wallet":"0x1"}\n', /has rows with other fields: "wallet"/],
    ['a CSV', 'id,name\r\n1,a\r\n', /begins with "id,name\\r", which is no JSON object in a line/],
    ['a list', '[1]\n', /no JSON object/],
    ['half a row', '{"id":1}\n{"id"', /ends within a row/],
  ])('are refused behind %s', async (_, before, message) => {
    await expect(jsonlAfter(before)).rejects.toThrow(message);
  });

  test('follow a row of megabytes', async () => {
    const before = `{"id":1,"name":"${'x'.repeat(2_000_000)}"}\n`;
    expect(await jsonlAfter(before)).toBe(`${before}{"id":2,"name":"b"}\n`);
  });
});

test('D3 rows are not appended to a compressed file, nor to a Parquet file', () => {
  expect(() => csv({ path: 'rows.csv.gz', ifExists: 'append' })).toThrow(/because it is compressed/);
  // @ts-expect-error: a program without types may try.
  expect(() => parquet({ path: 'rows.parquet', ifExists: 'append' })).toThrow(/its index comes last/);
});
