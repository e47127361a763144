// @module-tag slow
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parse } from 'csv-parse/sync';
import { describe, expect, test } from 'vitest';
import { Interruption } from '../src/errors/errors.js';
import { main } from '../src/program.js';
import { displayWidth } from '../src/terminal/width.js';
import { sluice, startSluice } from './runSluice.js';
import { temporaryFolder } from '../../../test/kit/temporaryFolder.js';
import { testEnvironment } from './testEnvironment.js';

describe('sluice demo', () => {
  test('runs without a key or a terminal, and on a terminal over an old file: each time there is the same whole file', async () => {
    const folder = temporaryFolder();
    const again = temporaryFolder();
    await mkdir(join(again, 'sluice-demo'));
    await writeFile(join(again, 'sluice-demo', 'holdings.csv'), 'an old file');
    const environment = testEnvironment({ folder: again, columns: 80, variables: { NO_COLOR: '1' } });
    const [{ code, stdout, stderr }, codeOnTerminal] = await Promise.all([
      startSluice(['demo'], { cwd: folder }).ended,
      main(['demo'], environment),
    ]);
    expect(code).toBe(0);
    expect(stderr).toMatch(/8,000 rows in 80 pages -> sluice-demo\/holdings\.csv \([^)]+ retries\)\n$/);
    expect(stdout).toMatch(/^ {2}Retried [1-9]\d* failed requests?\.$/m);
    expect(stdout).toMatch(/Waited [\d.]+ m?s for the rate limit; the API refused \S+/);
    expect(stdout).toContain('All 8,000 rows are there, none of them twice.');
    expect(stdout).toMatch(/The largest of \d+ collections\n( {2}\S.* █+\S* [\d,]+\n){6}/);
    expect(stdout).toMatch(/^ {2}[\d :-]{19} {2}42 streams at the start: \d+ active/m);
    expect(stdout.match(/^ {2}[\d :-]{19} {2}\S.* {2}\w+ -> \w+ {2}\S/gm)?.length).toBeGreaterThan(2);
    expect(stdout).toMatch(/42 records posted to http:\/\/127\.0\.0\.1:\d+: each signature was verified\./);
    expect(stdout).toMatch(/failed [1-9]\d* times on purpose; those records were sent again\./);
    expect(stdout).toMatch(/\d records? came twice, with the same id\. None is missing, none has changed\./);
    // The command works as it is shown, from where the demo was run.
    expect(stdout).toMatch(/^ {2}node \S+bin\.js nfts export --owner/m);
    // eslint-disable-next-line no-control-regex -- no colours, and nothing else that acts on a terminal
    expect(stdout + stderr).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f]/);

    expect(codeOnTerminal).toBe(0);
    const lines = environment.written.stdout().split('\n');
    expect(Math.max(...lines.map(displayWidth))).toBeLessThanOrEqual(80);
    const drawn = environment.written.stderr().replaceAll('\u001b[K', '').split('\r');
    expect(drawn.some((line) => /^█+░+ +\d+ % .* retr(y|ies) \(.*\) .* left$/.test(line))).toBe(true);
    expect(Math.max(...drawn.slice(0, -1).map(displayWidth))).toBeLessThan(80);
    expect(drawn.at(-1)).toMatch(/^8,000 rows in 80 pages/);
    expect((await wholeFile(folder)).equals(await wholeFile(again))).toBe(true);
  });

  test('stopped half-way leaves nothing half-written', async () => {
    const folder = temporaryFolder();
    const environment = testEnvironment({ folder, columns: 80 });
    const ended = main(['demo'], environment);
    await expect.poll(environment.written.stderr).toMatch(/[1-9],\d00 rows/);
    environment.interrupt(new Interruption('SIGINT'));
    expect(await ended).toBe(130);
    expect(await readdir(join(folder, 'sluice-demo'))).toEqual([]);
  });

  test('stopped while it watches ends at once', async () => {
    const environment = testEnvironment({ folder: temporaryFolder(), columns: 80 });
    const ended = main(['demo'], environment);
    await expect.poll(environment.written.stdout).toContain('at the start');
    environment.interrupt(new Interruption('SIGINT'));
    expect(await ended).toBe(130);
    expect(environment.written.stdout()).not.toContain('With a key of your own');
  });

  test('where it may not write says so', async () => {
    const cwd = temporaryFolder();
    await writeFile(join(cwd, 'sluice-demo'), 'a file in the way');
    const { code, stderr } = await sluice(['demo'], { cwd });
    expect(code).toBe(1);
    expect(stderr).toMatch(/^sluice: The folder \S+sluice-demo can't be made \(EEXIST\)\.[^\n]*\n$/);
  });
});

/** The demo's file, which is all that it leaves behind, read by somebody else's reader. */
async function wholeFile(folder: string): Promise<Buffer> {
  expect(await readdir(join(folder, 'sluice-demo'))).toEqual(['holdings.csv']);
  const content = await readFile(join(folder, 'sluice-demo', 'holdings.csv'));
  const rows: unknown[] = parse(content, { columns: true });
  expect(rows).toHaveLength(8000);
  return content;
}
