import { appendFileSync, existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { exportTo, HttpError, type ExportOptions, type RowFormat } from '../../src/index.js';
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
      throw new HttpError('The cursor has expired.', { status: 400, excerpt: '' });
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

  test('do not replace what somebody else has added meanwhile', async () => {
    const path = given(old);
    let isAdded = false;
    const onFetch: OnFetch = () => {
      if (!isAdded) appendFileSync(path, 'another row\n');
      isAdded = true;
    };
    await expect(run(path, { onFetch })).rejects.toThrow(/was changed while the export ran, and was not touched/);
    expect(readFileSync(path, 'utf8')).toBe(`${old}another row\n`);
    expect(readFileSync(`${path}.part`, 'utf8')).toBe(old + rows);
  });

  test('become a file of their own if somebody has removed the other one meanwhile', async () => {
    const path = given(old);
    await run(path, { onFetch: () => rmSync(path, { force: true }) });
    expect(readFileSync(path, 'utf8')).toBe(old + rows);
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
