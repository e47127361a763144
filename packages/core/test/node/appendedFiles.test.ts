import {
  appendFileSync,
  copyFileSync,
  existsSync,
  readFileSync,
  renameSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { gzipSync } from 'node:zlib';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { exportTo, HttpError, type ExportOptions } from '../../src/index.js';
import type { RowFormat } from '../../src/kit.js';
import { fileSink, fileState, type FileTarget } from '../../src/node/index.js';
import { temporaryFolder } from '../../../../test/kit/temporaryFolder.js';
import { fileOf, partitionsOf, type OnFetch } from './partitionRows.js';
import { textFormat } from './textRows.js';

const old = 'rows\nan old row\n';
const partitions = [[2, 2], [2]];
const header = 'rows\n';
const rows = fileOf(partitions).slice(header.length);

interface Run extends ExportOptions {
  readonly target?: Partial<FileTarget>;
  readonly format?: RowFormat<string>;
  readonly onFetch?: OnFetch;
}

function run(path: string, { target, format = textFormat, onFetch, ...options }: Run = {}) {
  const sink = fileSink(format, { path, ifExists: 'append', ...target });
  return exportTo(partitionsOf(partitions, onFetch), sink, { state: fileState(`${path}.sluice`), ...options }).run();
}

/** A file with these rows, or none. */
function given(text?: string): string {
  const path = join(temporaryFolder(), 'rows.txt');
  if (text !== undefined) writeFileSync(path, text);
  return path;
}

describe('D3 rows that are appended to a file', () => {
  test.each([
    ['with rows', old, old + rows],
    ['with a header only', header, header + rows],
    ['that is empty', '', header + rows],
    ['that is not there', undefined, header + rows],
  ])('follow those of one %s', async (_, before, after) => {
    const path = given(before);
    const report = await run(path, { concurrency: 2 });
    expect(readFileSync(path, 'utf8')).toBe(after);
    expect(report).toMatchObject({ rows: 6, bytes: after.length });
  });

  test('are not there before the end', async () => {
    const path = given(old);
    const seen: string[] = [];
    await run(path, { commitEvery: 1, onFetch: () => void seen.push(readFileSync(path, 'utf8')) });
    expect(new Set(seen)).toEqual(new Set([old]));
  });

  test('are appended once, however often the export is run, and again with restart', async () => {
    const path = given(old);
    await run(path);
    expect(await run(path)).toHaveProperty('finishedAt');
    expect(readFileSync(path, 'utf8')).toBe(old + rows);
    await run(path, { restart: true });
    expect(readFileSync(path, 'utf8')).toBe(old + rows + rows);
  });

  test('stay behind the old ones when the first partition is walked again', async () => {
    const path = given(old);
    let refusals = 1;
    const onFetch: OnFetch = (partition, page) => {
      if (partition !== 0 || page !== 1 || refusals === 0) return;
      refusals -= 1;
      throw new HttpError('The cursor has expired.', { status: 410, excerpt: '' });
    };
    await run(path, { commitEvery: 1, concurrency: 2, onExpired: 'restart-partition', onFetch });
    expect(refusals).toBe(0);
    expect(readFileSync(path, 'utf8')).toBe(old + rows);
  });

  test.each<[string, string, Run, RegExp]>([
    [
      'other rows',
      'other\nrow\n',
      {},
      /can't be appended to .*, which has other rows\. Give another path: nothing was/,
    ],
    ['half a row', 'rows\nhalf', {}, /which ends within a row/],
    ['a format that can not be continued', old, { format: { ...textFormat, encoder: closed } }, /can't be continued/],
  ])('are refused behind %s, and nothing is changed', async (_, before, how, message) => {
    const path = given(before);
    await expect(run(path, how)).rejects.toThrow(message);
    expect(readFileSync(path, 'utf8')).toBe(before);
    expect(existsSync(`${path}.part`)).toBe(false);
    expect(existsSync(`${path}.sluice`)).toBe(false);
  });

  test('are refused where the file is compressed', () => {
    expect(() => fileSink(textFormat, { path: 'rows.gz', ifExists: 'append' })).toThrow(
      "Rows can't be appended to rows.gz, because it is compressed.",
    );
  });

  const rotations: [string, (path: string) => void][] = [
    ['adds a row', (path) => appendFileSync(path, 'another row\n')],
    ['moves the file away', (path) => renameSync(path, `${path}.1`)],
    ['moves it away and begins another one', (path) => (renameSync(path, `${path}.1`), writeFileSync(path, header))],
    ['copies and truncates it', (path) => (copyFileSync(path, `${path}.1`), truncateSync(path))],
    ['truncates it and lets it grow again', (path) => writeFileSync(path, 'rows\nan new row\n')],
    ['cuts it within a row', (path) => truncateSync(path, old.length - 3)],
    ['puts an older copy in its place', (path) => writeFileSync(path, header)],
    ['compresses it', (path) => (writeFileSync(`${path}.gz`, gzipSync(readFileSync(path))), rmSync(path))],
  ];

  test.each(rotations)('bring no old rows back if somebody %s meanwhile', async (_, rotate) => {
    const path = given(old);
    // The file is copied before the first page is written, and so before the second partition is requested.
    const onFetch: OnFetch = (partition) => {
      if (partition === 1) rotate(path);
    };
    await expect(run(path, { onFetch })).rejects.toThrow(/while the export ran, and was not touched/);
    const after = existsSync(path) ? readFileSync(path, 'utf8') : '';
    expect(after).not.toContain(rows);
    expect(readFileSync(`${path}.part`, 'utf8')).toBe(old + rows);

    // The same again, which has nothing left to fetch.
    await expect(run(path)).rejects.toThrow(/was not touched/);
    writeFileSync(path, old);
    await run(path);
    expect(readFileSync(path, 'utf8')).toBe(old + rows);
  });

  test.each(rotations)('bring no old rows back if somebody %s before the export resumes', async (_, rotate) => {
    const path = given(old);
    const onFetch: OnFetch = (partition) => {
      if (partition === 1) throw new Error('down');
    };
    await expect(run(path, { commitEvery: 1, onFetch })).rejects.toThrow('down');
    rotate(path);
    const fetched: number[] = [];
    await expect(run(path, { onFetch: (partition) => void fetched.push(partition) })).rejects.toThrow(
      /was not touched/,
    );
    expect(fetched).toEqual([]);
    const rest = existsSync(path) ? readFileSync(path, 'utf8') : undefined;
    if (rest !== undefined && rest !== '' && !rest.endsWith('\n')) return;
    await run(path, { restart: true });
    expect(readFileSync(path, 'utf8')).toBe((rest === undefined || rest === '' ? header : rest) + rows);
  });

  test('are not those of a checkpoint that replaces the file', async () => {
    const path = given(old);
    const failing: OnFetch = (partition) => {
      if (partition === 1) throw new Error('down');
    };
    await expect(run(path, { commitEvery: 1, onFetch: failing, target: { ifExists: 'overwrite' } })).rejects.toThrow();
    await expect(run(path)).rejects.toMatchObject({ code: 'checkpoint' });
    expect(readFileSync(path, 'utf8')).toBe(old);
  });
});

function closed() {
  const { header: start, encode } = textFormat.encoder(undefined);
  return { header: start, encode };
}

describe('D3 a finished export that has appended rows, and is run again,', () => {
  test.each<[string, (path: string) => void]>([
    ['as it was', () => undefined],
    ['with rows that others have appended since', (path) => appendFileSync(path, 'a row of others\n')],
  ])('is done where the file is %s', async (_, change) => {
    const path = given(old);
    await run(path);
    change(path);
    const before = readFileSync(path, 'utf8');
    expect((await run(path)).finishedAt).toBeDefined();
    expect(readFileSync(path, 'utf8')).toBe(before);
  });

  test.each<[string, (path: string) => void]>([
    ['empty', (path) => truncateSync(path)],
    ['gone', (path) => rmSync(path)],
  ])('appends all rows where the file is %s', async (_, change) => {
    const path = given(old);
    await run(path);
    change(path);
    expect((await run(path)).finishedAt).toBeUndefined();
    expect(readFileSync(path, 'utf8')).toBe(header + rows);
  });

  test.each<[string, (path: string) => void]>([
    ['cut', (path) => truncateSync(path, old.length + 5)],
    ['changed', (path) => writeFileSync(path, readFileSync(path, 'utf8').replace('old', 'new'))],
    ['replaced by another one', (path) => writeFileSync(path, 'rows\nmine\n')],
  ])('is refused where the file is %s, since its rows might be there twice', async (_, change) => {
    const path = given(old);
    await run(path);
    change(path);
    const before = readFileSync(path, 'utf8');
    await expect(run(path)).rejects.toThrow('was changed or replaced since the finished export appended its rows');
    expect(readFileSync(path, 'utf8')).toBe(before);
  });
});
