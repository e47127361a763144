import { readFile, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { startSandbox, type Sandbox } from '@sluice/sandbox';
import { parse } from 'csv-parse/sync';
import { describe, expect, test } from 'vitest';
import { settingsFor, sluice } from './runSluice.js';
import { temporaryFolder } from '../../../test/kit/temporaryFolder.js';

const fast = ['--rate', 'unlimited'];

/** The names of all holdings, in order, as a CSV without a guard holds them. */
function namesOf(sandbox: Sandbox, owners = sandbox.owners): string[] {
  return [...sandbox.holdingsOf(owners)].map(({ name }) => name ?? '');
}

function columnOf(text: string, column: string): (string | undefined)[] {
  const rows: Record<string, string>[] = parse(text, { columns: true });
  return rows.map((row) => row[column]);
}

describe('sluice nfts export', () => {
  test('writes all holdings, and says so in one line', async () => {
    await using sandbox = await startSandbox({ holdings: 1234 });
    const cwd = temporaryFolder();
    const args = [
      'nfts',
      'export',
      '--owner',
      ...sandbox.owners,
      '--to',
      'holdings.csv',
      '--no-guard-formulas',
      ...fast,
    ];
    const { code, stdout, stderr } = await sluice(args, { env: settingsFor(sandbox), cwd });
    expect({ code, stdout }).toEqual({ code: 0, stdout: '' });
    expect(stderr).toMatch(/^1,234 rows in 13 pages -> holdings\.csv \(\d+ kB, [\d.]+ m?s\)\n$/);
    expect(columnOf(await readFile(join(cwd, 'holdings.csv'), 'utf8'), 'name')).toEqual(namesOf(sandbox));
    expect(await readdir(cwd)).toEqual(['holdings.csv', 'holdings.csv.sluice']);
  });

  test('guards formulas in CSV unless told otherwise', async () => {
    await using sandbox = await startSandbox({ holdings: 500, nasty: 1 });
    const args = ['nfts', 'export', '--owner', ...sandbox.owners, '--to', '-', '--columns', 'name', ...fast];
    const env = settingsFor(sandbox);
    const [guarded, raw] = await Promise.all([
      sluice(args, { env }),
      sluice([...args, '--no-guard-formulas'], { env }),
    ]);
    expect(columnOf(raw.stdout, 'name')).toContain('=SUM(A1:A9)');
    expect(columnOf(guarded.stdout, 'name')).toContain("'=SUM(A1:A9)");
    expect(columnOf(guarded.stdout, 'name')).not.toContain('=SUM(A1:A9)');
  });

  test('takes owners from arguments, a file and stdin; repeated ones are asked for once, with a warning', async () => {
    await using sandbox = await startSandbox({ holdings: 90, nasty: 0 });
    const [first = '', second = '', third = ''] = sandbox.owners;
    const cwd = temporaryFolder();
    await writeFile(join(cwd, 'owners.txt'), `# two wallets\n${second}\n\n${third} # the last one\n`);
    const env = settingsFor(sandbox);
    const columns = ['--columns', 'name', ...fast];
    const args = ['nfts', 'export', '--owner', first, '--owner', second, '--owners-file', 'owners.txt', '--to', '-'];
    const given = await sluice([...args, ...columns], { env, cwd });
    expect(columnOf(given.stdout, 'name')).toEqual(namesOf(sandbox));
    expect(given.stderr).toContain('sluice: 1 of 4 owner addresses are repeated; each wallet is requested once.\n');
    const piped = await sluice(['nfts', 'export', '--owners-file', '-', '--to', '-', ...columns], {
      env,
      input: `${third}\n`,
    });
    expect(columnOf(piped.stdout, 'name')).toEqual(namesOf(sandbox, [third]));
  });

  test('knows the format by the name, or by --format; .gz and --gzip compress', async () => {
    await using sandbox = await startSandbox({ holdings: 250, nasty: 0 });
    const cwd = temporaryFolder();
    const env = settingsFor(sandbox);
    const to = (file: string, ...more: string[]) =>
      sluice(['nfts', 'export', '--owner', ...sandbox.owners, '--to', file, '--columns', 'name', ...fast, ...more], {
        env,
        cwd,
      });
    const outcomes = await Promise.all([
      to('a.jsonl'),
      to('b.csv.gz'),
      to('c.dat', '--format', 'jsonl', '--gzip'),
      to('d.csv', '--bom', '--extra'),
    ]);
    expect(outcomes.map(({ code }) => code)).toEqual([0, 0, 0, 0]);
    const read = (file: string) => readFile(join(cwd, file));
    const lines = (await read('a.jsonl')).toString().trimEnd().split('\n');
    expect(lines.map((line): unknown => JSON.parse(line))).toEqual(namesOf(sandbox).map((name) => ({ name })));
    expect(columnOf(gunzipSync(await read('b.csv.gz')).toString(), 'name')).toEqual(namesOf(sandbox));
    expect(
      gunzipSync(await read('c.dat'))
        .toString()
        .trimEnd()
        .split('\n'),
    ).toEqual(lines);
    expect((await read('d.csv')).toString()).toMatch(/^\ufeffname,extra\r\n/);
  });

  test(
    'E1 a concurrency above 1 asks for several groups of wallets at once, and the file has their order all the same',
    { tags: ['slow'] },
    async () => {
      // Responses that take long are awaited together, however slowly the requests are sent.
      await using sandbox = await startSandbox({ holdings: 600, latency: 200 });
      const options = { env: settingsFor(sandbox), cwd: temporaryFolder() };
      const args = ['nfts', 'export', '--owner', ...sandbox.owners, '--owners-per-request', '1', ...fast];
      await sluice([...args, '--to', 'one.csv'], options);
      expect(sandbox.counts.maxOpen).toBe(1);
      await sluice([...args, '--to', 'three.csv', '--concurrency', '3'], options);
      expect(sandbox.counts.maxOpen).toBe(3);
      const [one, three] = await Promise.all(['one.csv', 'three.csv'].map((name) => readFile(join(options.cwd, name))));
      expect(one?.length).toBeGreaterThan(1000);
      expect(three).toEqual(one);
    },
  );

  test('bounds, filters and pages go to the API', { tags: ['slow'] }, async () => {
    await using sandbox = await startSandbox({ holdings: 2000, nasty: 0 });
    const { collection_data_id_hash: hash, collection_name: name } = sandbox.holding(0);
    const env = settingsFor(sandbox);
    const names = async (...more: string[]) => {
      const args = [
        'nfts',
        'export',
        '--owner',
        ...sandbox.owners,
        '--to',
        '-',
        '--columns',
        'collection_name',
        ...fast,
      ];
      return columnOf((await sluice([...args, ...more], { env })).stdout, 'collection_name');
    };
    const all = [...sandbox.holdingsOf(sandbox.owners)].map((row) => row.collection_name);
    expect(await names('--max-rows', '120', '--page-size', '50', '--offset', '7')).toEqual(all.slice(7, 127));
    expect(await names('--include-collections', hash)).toEqual(all.filter((other) => other === name));
    expect(await names('--exclude-collections', hash)).toEqual(all.filter((other) => other !== name));
    expect((await names('--concurrency', '3')).toSorted()).toEqual(all.toSorted());
  });

  test('leaves an existing file alone, unless told to overwrite it', async () => {
    await using sandbox = await startSandbox({ holdings: 10 });
    const cwd = temporaryFolder();
    await writeFile(join(cwd, 'holdings.csv'), 'mine');
    const args = ['nfts', 'export', '--owner', ...sandbox.owners, '--to', 'holdings.csv', ...fast];
    const refused = await sluice(args, { env: settingsFor(sandbox), cwd });
    expect(refused.code).toBe(1);
    expect(refused.stderr).toMatch(/holdings\.csv exists already, and was not touched\..*--if-exists overwrite/);
    expect(await readFile(join(cwd, 'holdings.csv'), 'utf8')).toBe('mine');
    expect((await sluice([...args, '--if-exists', 'overwrite'], { env: settingsFor(sandbox), cwd })).code).toBe(0);
    expect(columnOf(await readFile(join(cwd, 'holdings.csv'), 'utf8'), 'name')).toHaveLength(10);
  });

  test('--restart goes over what an interrupted run left behind', async () => {
    await using sandbox = await startSandbox({ holdings: 10 });
    const cwd = temporaryFolder();
    await writeFile(join(cwd, 'holdings.csv.part'), 'half');
    const args = ['nfts', 'export', '--owner', ...sandbox.owners, '--to', 'holdings.csv', ...fast];
    const refused = await sluice(args, { env: settingsFor(sandbox), cwd });
    expect(refused.code).toBe(1);
    expect(refused.stderr).toContain('--restart');
    expect((await sluice([...args, '--restart'], { env: settingsFor(sandbox), cwd })).code).toBe(0);
    expect(await readdir(cwd)).toEqual(['holdings.csv', 'holdings.csv.sluice']);
  });

  test('a wallet that holds nothing gives a file with a header', async () => {
    await using sandbox = await startSandbox({ holdings: 10 });
    const { code, stdout, stderr } = await sluice(
      ['nfts', 'export', '--owner', '0x1', '--to', '-', '--columns', 'name'],
      {
        env: settingsFor(sandbox),
      },
    );
    expect({ code, stdout }).toEqual({ code: 0, stdout: 'name\r\n' });
    expect(stderr).toMatch(/^0 rows in 1 page -> stdout/);
  });

  test('keeps to the rate that it was given', { tags: ['slow'] }, async () => {
    await using sandbox = await startSandbox({ holdings: 3000 });
    const args = ['nfts', 'export', '--owner', ...sandbox.owners, '--to', '-', '--rate', '20/s', '--progress', 'json'];
    const { code, stderr } = await sluice(args, { env: settingsFor(sandbox) });
    expect(code).toBe(0);
    // 30 pages: the 21st request starts a second after the first one, at the earliest.
    const [first, ...others] = sandbox.requests.map(({ arrivedAt }) => arrivedAt);
    expect((others[19] ?? 0) - (first ?? 0)).toBeGreaterThan(990);
    expect(eventsOf(stderr).at(-1)).toMatchObject({ event: 'report', rows: 3000 });
  });
});

describe('the key', () => {
  const canary = 'canary+key/9b1f?&=';
  const forms = [canary, encodeURIComponent(canary), Buffer.from(canary).toString('base64').slice(0, 20)];

  test('stands in no byte of the output, even if the API repeats it', { tags: ['slow'] }, async () => {
    await using sandbox = await startSandbox({ holdings: 1500, apiKey: canary, faults: { echoKey: 0.3 } });
    const args = ['nfts', 'export', '--owner', ...sandbox.owners, '--to', '-', '--progress', 'json', ...fast];
    const survived = await sluice(args, { env: { ...settingsFor(sandbox), SLUICE_DEBUG: '1' } });
    expect(survived.code).toBe(0);
    expect(survived.stderr).toMatch(/"retries":[1-9]/);
    for (const form of forms) expect(survived.stdout + survived.stderr).not.toContain(form);
  });

  test.each(['plain', 'json'])('nor in the fault that ends the export (--progress %s)', async (progress) => {
    await using sandbox = await startSandbox({ apiKey: canary, script: () => ({ kind: 'echo-key', status: 403 }) });
    const args = ['nfts', 'export', '--owner', '0x1', '--to', '-', '--progress', progress];
    const failed = await sluice(args, { env: { ...settingsFor(sandbox), SLUICE_DEBUG: '1' } });
    expect(failed.code).toBe(1);
    expect(failed.stderr).toContain('the server responded with 403');
    for (const form of forms) expect(failed.stdout + failed.stderr).not.toContain(form);
  });

  test('can come from a file, which wins over the environment, or from stdin', async () => {
    await using sandbox = await startSandbox({ holdings: 5, apiKey: canary });
    const cwd = temporaryFolder();
    await writeFile(join(cwd, 'key'), `${canary}\r\n`);
    const env = { ...settingsFor(sandbox), SLUICE_API_KEY: 'another one' };
    const args = ['nfts', 'export', '--owner', ...sandbox.owners, '--to', '-', '--api-key-file'];
    expect((await sluice([...args, 'key'], { env, cwd })).code).toBe(0);
    expect((await sluice([...args, '-'], { env, cwd, input: `${canary}\n` })).code).toBe(0);
  });

  test('that is refused is told with what to do', async () => {
    await using sandbox = await startSandbox();
    const env = { ...settingsFor(sandbox), SLUICE_API_KEY: canary };
    const { code, stderr } = await sluice(['streams', 'list'], { env });
    expect(code).toBe(1);
    expect(stderr).toMatch(/^sluice: [^\n]*401[^\n]*"sluice doctor" checks the settings\.\n$/);
    expect(stderr).not.toContain(canary);
  });
});

describe('progress', () => {
  test(
    '--progress json: every line of stderr is an event, the first is the start, the last is the report',
    { tags: ['slow'] },
    async () => {
      await using sandbox = await startSandbox({ holdings: 3000, latency: 50, faults: { serverError: 0.1 } });
      const args = ['nfts', 'export', '--owner', ...sandbox.owners, '--to', '-', '--progress', 'json', ...fast];
      const { code, stderr } = await sluice(args, { env: settingsFor(sandbox) });
      expect(code).toBe(0);
      const events = eventsOf(stderr);
      expect(events[0]).toEqual({ event: 'start', source: 'aptos.nfts', target: 'stdout', format: 'csv' });
      expect(events.at(-1)).toEqual({
        event: 'report',
        target: 'stdout',
        bytes: expect.any(Number),
        rows: 3000,
        pages: 30,
        rowsPerSecond: expect.any(Number),
        requests: sandbox.counts.requests,
        retries: sandbox.counts.requests - 30,
        waitedMs: expect.any(Number),
        elapsedMs: expect.any(Number),
        lastRetry: expect.stringMatching(/^HTTP 5\d\d$/),
      });
      const progress = events.slice(1, -1);
      expect(progress.length).toBeGreaterThan(0);
      for (const event of progress) expect(event).toMatchObject({ event: 'progress', rows: expect.any(Number) });
    },
  );

  test('--progress json: a fault is the last event', async () => {
    await using sandbox = await startSandbox({
      holdings: 3000,
      script: ({ nth }) => (nth > 3 ? { kind: 'status', status: 400 } : undefined),
    });
    const cwd = temporaryFolder();
    const args = ['nfts', 'export', '--owner', ...sandbox.owners, '--to', 'out.csv', '--progress', 'json'];
    args.push('--commit-every', '50');
    const { code, stderr } = await sluice(args, { env: settingsFor(sandbox), cwd });
    expect(code).toBe(1);
    expect(eventsOf(stderr).at(-1)).toMatchObject({
      event: 'failed',
      exitCode: 1,
      rows: 300,
      message: expect.stringContaining('400'),
    });
    expect(await readdir(cwd)).toEqual([]);
  });

  test('--quiet prints nothing but faults', async () => {
    await using sandbox = await startSandbox({ holdings: 500 });
    const cwd = temporaryFolder();
    const args = [
      'nfts',
      'export',
      '--owner',
      ...sandbox.owners,
      ...sandbox.owners,
      '--to',
      'out.csv',
      '--quiet',
      ...fast,
    ];
    expect(await sluice(args, { env: settingsFor(sandbox), cwd })).toEqual({ code: 0, stdout: '', stderr: '' });
    const again = await sluice([...args, '--columns', 'name'], { env: settingsFor(sandbox), cwd });
    expect(again).toMatchObject({
      code: 1,
      stdout: '',
      stderr: expect.stringMatching(/^sluice: [^\n]*exists already[^\n]*\n$/),
    });
  });
});

function eventsOf(text: string): unknown[] {
  return text
    .trimEnd()
    .split('\n')
    .map((line): unknown => JSON.parse(line));
}
