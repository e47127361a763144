// @module-tag slow
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { startSandbox } from '@sluice/sandbox';
import { describe, expect, test } from 'vitest';
import { cellFor, fieldOf, readCsv } from '../packages/exporters/test/readCsv.js';
import { startSecondServer } from '../packages/exporters/test/secondServer.js';
import { casesOf } from '../scripts/testEffort.js';
import { bundled } from '../scripts/bundled.js';
import { run } from './run.js';
import { temporaryFolder } from './kit/temporaryFolder.js';

const many = casesOf(12_345);

/** The exported server, and the rows that it sends. */
interface Origin extends AsyncDisposable {
  readonly aptosUrl: string;
  readonly apiKey: string;
  readonly owners: readonly string[];
  readonly holdings: readonly object[];
}

async function sandbox(): Promise<Origin> {
  const started = await startSandbox({ holdings: many, nasty: 1 });
  return { ...started, holdings: [...started.holdingsOf(started.owners)] };
}

async function second(): Promise<Origin> {
  const started = await startSecondServer({ holdings: many, paging: 'cursor' });
  return { ...started, aptosUrl: started.url, holdings: started.holdings.map((text): object => JSON.parse(text)) };
}

describe.each([
  ['the sandbox', sandbox],
  ['a server that shares no code with it', second],
])(`E11 sluice nfts export of 3 owners with ${many} nasty holdings, from %s`, (_name, start) => {
  test('writes every field as it was sent; with the guard, only cells that a spreadsheet would run differ', async () => {
    await using origin = await start();
    const cwd = temporaryFolder();
    const env = { SLUICE_API_KEY: origin.apiKey, SLUICE_APTOS_URL: origin.aptosUrl };
    const command = ['nfts', 'export', '--owner', ...origin.owners, '--rate', 'unlimited', '--quiet'];
    const bin = bundled(new URL('../packages/cli/src/bin.js', import.meta.url));
    for (const [name, more] of [
      ['plain.csv', ['--no-guard-formulas']],
      ['guarded.csv', []],
    ] as const) {
      expect(await run([bin, ...command, '--to', name, ...more], cwd, env)).toEqual({ code: 0, output: '' });
    }
    const plain = readCsv(await readFile(join(cwd, 'plain.csv'), 'utf8'));
    const columns = plain[0] ?? [];
    expect(columns).toHaveLength(12);
    const sent = [columns, ...origin.holdings.map((row) => columns.map((column) => cellFor(fieldOf(row, column))))];
    expect(plain).toEqual(sent);
    const guarded = readCsv(await readFile(join(cwd, 'guarded.csv'), 'utf8'));
    const changed = guarded.flatMap((cells, row) => cells.filter((cell, column) => cell !== sent[row]?.[column]));
    expect(changed.length).toBeGreaterThan(100);
    for (const cell of changed) expect(cell).toMatch(/^'[=+\-@\t\r\n\0＝＋－＠]/u);
    expect(
      guarded.map((cells, row) => cells.map((cell, c) => (cell === sent[row]?.[c] ? cell : cell.slice(1)))),
    ).toEqual(sent);
  });
});
