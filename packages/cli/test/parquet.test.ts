import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { startSandbox } from '@sluice/sandbox';
import { expect, test } from 'vitest';
import { temporaryFolder } from '../../../test/kit/temporaryFolder.js';
import { queryDuck, readWithDuck } from '../../exporters/test/duckdb.js';
import { settingsFor, sluice } from './runSluice.js';

test('D7 --to FILE.parquet exports holdings with the types of their columns', { tags: ['slow'] }, async () => {
  await using sandbox = await startSandbox({ holdings: 300, nasty: 0 });
  const cwd = temporaryFolder();
  const args = ['nfts', 'export', '--owner', ...sandbox.owners, '--to', 'holdings.parquet'];
  const first = await sluice(args, { env: settingsFor(sandbox), cwd });
  expect(first).toMatchObject({ code: 0, stderr: expect.stringMatching(/300 rows .*holdings\.parquet/) });
  const path = join(cwd, 'holdings.parquet');
  const { types, rows } = await queryDuck(`select * from read_parquet('${path}')`);
  expect(rows).toHaveLength(300);
  expect(types).toMatchObject({
    amount: 'DECIMAL(38,0)',
    owner_address: 'VARCHAR',
    token_properties: 'JSON',
    last_transaction_timestamp: 'TIMESTAMP WITH TIME ZONE',
  });
  const again = await sluice(args, { env: settingsFor(sandbox), cwd });
  expect(again).toMatchObject({ code: 0, stderr: expect.stringMatching(/is complete \(300 rows, exported /) });
});

test('D7 streams have booleans and JSON, and --columns names the columns of a Parquet file', async () => {
  await using sandbox = await startSandbox({ streams: 12 });
  const cwd = temporaryFolder();
  const columns = ['--columns', 'id,allAddresses,chainIds'];
  const args = ['streams', 'export', '--to', 'streams', '--format', 'parquet', ...columns];
  expect(await sluice(args, { env: settingsFor(sandbox), cwd })).toMatchObject({ code: 0 });
  const { types, rows } = await readWithDuck(join(cwd, 'streams'));
  expect(types).toEqual({ id: 'VARCHAR', allAddresses: 'BOOLEAN', chainIds: 'JSON' });
  expect(rows).toHaveLength(12);
});

test(
  'D4 D7 a value that no column of Parquet holds is a warning in text and JSON, or an error with --strict-types',
  { tags: ['slow'] },
  async () => {
    await using sandbox = await startSandbox({ holdings: 400, nasty: 1 });
    const cwd = temporaryFolder();
    const export_ = (...more: string[]) =>
      sluice(['nfts', 'export', '--owner', ...sandbox.owners, '--to', 'a.parquet', ...more], {
        env: settingsFor(sandbox),
        cwd,
      });
    const strict = await export_('--strict-types');
    expect(strict).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/Row \d+ has a value in amount .* and types are strict\./),
    });
    expect(await readdir(cwd)).not.toContain('a.parquet');
    const json = await export_('--progress', 'json');
    const events = json.stderr
      .trim()
      .split('\n')
      .map((line): unknown => JSON.parse(line));
    const message = expect.stringMatching(
      /Row \d+ has a value in amount with more than the 38 digits of a DECIMAL, so the whole column is text in /,
    );
    expect([json.code, events]).toEqual([0, expect.arrayContaining([{ event: 'warning', message }])]);
    const text = await export_('--if-exists', 'overwrite', '--restart', '--progress', 'plain');
    expect(text).toMatchObject({ code: 0, stderr: message });
  },
);

test.each([
  [['--to', '-', '--format', 'parquet'], /can't be written to stdout: its index comes last/],
  [['--to', 'holdings.parquet', '--gzip'], /is compressed inside.*leave out --gzip/],
  [['--to', 'holdings.parquet.gz'], /is compressed inside.*\.gz in its name/],
  [['--to', 'holdings.parquet', '--extra'], /--extra is for CSV only/],
  [['--to', 'holdings.parquet', '--bom'], /--bom is for CSV only/],
  [['--to', 'holdings.csv', '--strict-types'], /--strict-types is for Parquet: columns of CSV have no types/],
  [
    ['--to', '-', '--format', 'jsonl', '--strict-types'],
    /--strict-types is for Parquet: columns of JSON Lines have no/,
  ],
  [['--to', 'holdings.sqlite', '--strict-types'], /--strict-types goes with a file/],
])('D7 a Parquet file with %j is refused before any request', async (target, sentence) => {
  await using sandbox = await startSandbox({ holdings: 10 });
  const cwd = temporaryFolder();
  const args = ['nfts', 'export', '--owner', ...sandbox.owners, ...target];
  const { code, stderr } = await sluice(args, { env: settingsFor(sandbox), cwd });
  expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringMatching(/^sluice: [^\n]+\n$/) });
  expect(stderr).toMatch(sentence);
  expect(await readdir(cwd)).toEqual([]);
  expect(sandbox.counts.requests).toBe(0);
});
