import { appendFileSync, existsSync, readFileSync, rmSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import { startSandbox, type Sandbox } from '@sluice/sandbox';
import { describe, expect, test } from 'vitest';
import { exportArgs } from './interruptedExport.js';
import { settingsFor, sluice, startSluice, type RunOptions } from './runSluice.js';
import { temporaryFolder } from '../../../test/kit/temporaryFolder.js';

async function finished(sandbox: Sandbox): Promise<{ args: string[]; options: RunOptions; path: string }> {
  const cwd = temporaryFolder();
  const args = exportArgs(sandbox, 'out.csv');
  const options = { env: settingsFor(sandbox), cwd };
  expect((await sluice(args, options)).code).toBe(0);
  return { args, options, path: join(cwd, 'out.csv') };
}

describe('E1 an export that is run again after it finished', () => {
  test('says so in a sentence, asks for nothing, and exits with 0', { tags: ['slow'] }, async () => {
    await using sandbox = await startSandbox({ holdings: 1000 });
    const { args, options, path } = await finished(sandbox);
    const bytes = readFileSync(path);
    const before = sandbox.counts.requests;
    const { code, stdout, stderr } = await sluice(args, options);
    expect({ code, stdout }).toEqual({ code: 0, stdout: '' });
    expect(stderr).toMatch(
      /^out\.csv is complete \(1,000 rows, exported \d{4}-\d\d-\d\d \d\d:\d\d UTC\); use --if-exists overwrite to export it again\n$/,
    );
    // Otherwise a job that does nothing, night after night, would say nothing.
    expect(await sluice([...args, '--quiet'], options)).toEqual({ code: 0, stdout: '', stderr: `sluice: ${stderr}` });
    const events = (await sluice([...args, '--progress', 'json'], options)).stderr.trimEnd().split('\n');
    expect(JSON.parse(events.at(-1) ?? '')).toMatchObject({
      event: 'report',
      target: 'out.csv',
      rows: 1000,
      bytes: bytes.length,
      requests: 0,
      finishedAt: expect.stringMatching(/^\d{4}-/) as string,
    });
    expect(sandbox.counts.requests).toBe(before);
    expect(readFileSync(path).equals(bytes)).toBe(true);
  });

  test('exports again over the old file where told to, and where the file is gone', { tags: ['slow'] }, async () => {
    await using sandbox = await startSandbox({ holdings: 300 });
    const { args, options, path } = await finished(sandbox);
    const bytes = readFileSync(path);
    for (const how of [['--if-exists', 'overwrite'], ['--if-exists', 'overwrite', '--restart'], []]) {
      const before = sandbox.counts.requests;
      if (how.length === 0) rmSync(path);
      expect((await sluice([...args, ...how], options)).code).toBe(0);
      expect(sandbox.counts.requests).toBeGreaterThan(before);
      expect(readFileSync(path).equals(bytes)).toBe(true);
    }
  });

  test('refuses a file that was changed since', async () => {
    await using sandbox = await startSandbox({ holdings: 300 });
    const { args, options, path } = await finished(sandbox);
    appendFileSync(path, 'mine\n');
    const { code, stderr } = await sluice(args, options);
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: expect.stringContaining('out.csv exists already, and was not touched.'),
    });
  });

  test('ends a supervisor that runs it until it exits with 0, whenever it is killed', { tags: ['slow'] }, async () => {
    await using sandbox = await startSandbox({ holdings: 2000 });
    const { path: reference } = await finished(sandbox);
    for (let nth = 0; nth < 6; nth += 1) {
      const options = { env: settingsFor(sandbox), cwd: temporaryFolder() };
      const path = join(options.cwd, 'out.csv');
      const { process, ended } = startSluice(exportArgs(sandbox, 'out.csv'), options);
      // From the moment on that the last file has its name, at another turn of the loop each time.
      const isThere = (): boolean => existsSync(nth < 3 ? path : `${path}.part`);
      while (!isThere() && process.exitCode === null) await new Promise((resolve) => setImmediate(resolve));
      for (let turn = 0; turn < 20 * (nth % 3); turn += 1) await new Promise((resolve) => setImmediate(resolve));
      process.kill('SIGKILL');
      await ended;
      expect((await sluice(exportArgs(sandbox, 'out.csv'), options)).code).toBe(0);
      expect(readFileSync(path).equals(readFileSync(reference))).toBe(true);
    }
  });
});

describe('sluice checkpoint show, of an export that finished', () => {
  test.each<[string, (path: string) => void, string, string]>([
    ['', () => undefined, 'out\\.csv is in place, with all of its [^\\n]+', 'Nothing is left to do: [^\\n]+'],
    [
      ' and is gone',
      (path) => rmSync(path),
      'out\\.csv no longer exists',
      'The same command exports it again, from the start\\.',
    ],
    [
      ' and was changed',
      (path) => truncateSync(path, 10),
      'out\\.csv was changed since: it has 10 B, and had [^\\n]+',
      'The same command is refused, since the name is taken; [^\\n]+',
    ],
  ])('says when%s', async (_, change, file, next) => {
    await using sandbox = await startSandbox({ holdings: 300 });
    const { options, path } = await finished(sandbox);
    change(path);
    const { code, stdout, stderr } = await sluice(['checkpoint', 'show', 'out.csv'], options);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toMatch(
      new RegExp(
        `^target    \\S+out\\.csv\\nsource    aptos\\.nfts\\nmade [^\\n]+\\ncommand [^\\n]+\\nfinished  300 rows in \\d pages?, [^\\n]+ ago \\(\\d{4}-[^)]+\\)\\nfile      ${file}\\nnext      ${next}\\n$`,
      ),
    );
    const json = await sluice(['checkpoint', 'show', 'out.csv', '--format', 'json'], options);
    expect(JSON.parse(json.stdout)).toMatchObject({
      rows: 300,
      isSealed: true,
      finishedAt: expect.stringMatching(/Z$/) as string,
    });
  });

  test('or of a file that none of ours has left, says that an export to it is refused', async () => {
    await using sandbox = await startSandbox({ holdings: 300 });
    const { options, path } = await finished(sandbox);
    rmSync(`${path}.sluice`, { recursive: true });
    const { code, stderr } = await sluice(['checkpoint', 'show', 'out.csv'], options);
    expect(code).toBe(1);
    expect(stderr).toMatch(/checkpoint is not there: .* An export to \S+out\.csv is refused, because the file exists;/);
  });
});
