import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { HttpError } from '@sluice/core';
import { startReceiver, startSandbox, type Sandbox } from '@sluice/sandbox';
import { describe, expect, test } from 'vitest';
import { onTestEnd } from '../../../scripts/testScope.js';
import { FakeClock } from '../../core/test/fakeClock.js';
import { freePort } from '../../../test/kit/freePort.js';
import { redisProgram, startRedis } from '../../../test/kit/redisServer.js';
import { temporaryFolder } from '../../../test/kit/temporaryFolder.js';
import { openMonitor } from '../src/commands/withPings.js';
import { Interruption, TimeUp } from '../src/errors/errors.js';
import { findPing, pingUrl, type PingStatus } from '../src/input/pingUrl.js';
import { main } from '../src/program.js';
import { eventsIn, folderWithSecret, forwardArgs, forwardWatchArgs, here } from './forwarding.js';
import { settingsFor, startSluice } from './runSluice.js';
import { testEnvironment, type TestEnvironment } from './testEnvironment.js';
import { polled, watchArgs } from './watching.js';

/** A monitor of cron jobs, and what it was told. */
interface Monitor {
  readonly url: string;
  /** Methods and paths, in their order. */
  readonly pings: readonly string[];
  readonly until: (count: number) => Promise<void>;
}

const slow = { tags: ['slow'] };
const id = '5f0c1a7e-77aa-4f7b-9d8e-secret000000';

async function startMonitor(status: number | 'never' = 200): Promise<Monitor> {
  const pings: string[] = [];
  const server = createServer(({ method, url }, response) => {
    pings.push(`${method} ${url?.replace(`/${id}`, '/ID')}`);
    if (status !== 'never') response.writeHead(status).end('OK');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestEnd(() => void server.closeAllConnections());
  onTestEnd(() => void server.close());
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/${id}`,
    pings,
    until: (count) => expect.poll(() => pings.length, { timeout: 60_000 }).toBeGreaterThanOrEqual(count),
  };
}

const allowed = ['--allow-address', '127.0.0.1'];
const pinging = ({ url }: Monitor, end = ''): string[] => ['--ping', `${url}${end}`, ...allowed];
const begunAndDone = ['GET /ID/start', 'GET /ID'];
const begunAndFailed = ['GET /ID/start', 'GET /ID/fail'];

/** Runs a command, which is interrupted once something has happened. */
async function interrupted(
  sandbox: Sandbox,
  args: readonly string[],
  reason: Interruption,
  when: (environment: TestEnvironment) => Promise<unknown>,
  folder = temporaryFolder(),
) {
  const environment = testEnvironment({ folder, variables: settingsFor(sandbox) });
  const running = main(args, environment);
  await when(environment);
  environment.interrupt(reason);
  return { code: await running, stderr: environment.written.stderr(), stdout: environment.written.stdout() };
}

/** An API that is away. */
const nowhere = { SLUICE_STREAMS_URL: 'http://127.0.0.1:1' };
const exportStreams = ['streams', 'export', '--to', 'out.csv'];

describe('C14 an export with --ping', () => {
  test('pings when it begins, and when it has succeeded', async () => {
    await using sandbox = await startSandbox({ streams: 3 });
    const monitor = await startMonitor();
    const outcome = await here(sandbox, temporaryFolder(), [...exportStreams, ...pinging(monitor)]);
    expect(outcome.code).toBe(0);
    expect(monitor.pings).toEqual(begunAndDone);
  });

  test('pings that it has failed, whatever failed', async () => {
    await using sandbox = await startSandbox({ streams: 3 });
    const monitor = await startMonitor();
    const failing = [...exportStreams, '--retry-for', '0s', ...pinging(monitor)];
    expect((await here(sandbox, temporaryFolder(), failing, nowhere)).code).toBe(1);
    expect(monitor.pings).toEqual(begunAndFailed);
    const wrongUse = ['streams', 'export', '--to', 'out.txt', ...pinging(monitor, '?s={status}&code={code}')];
    expect((await here(sandbox, temporaryFolder(), wrongUse)).code).toBe(2);
    expect(monitor.pings.slice(2)).toEqual(['GET /ID?s=start&code=', 'GET /ID?s=fail&code=2']);
  });

  test('pings that it has failed if records became dead letters', async () => {
    await using sandbox = await startSandbox({ holdings: 20, owners: 1 });
    await using receiver = await startReceiver({ script: [{ status: 422 }] });
    const monitor = await startMonitor();
    const words = ['--ping', `${monitor.url}?state={run|complete|fail}&code={code}`];
    const outcome = await here(sandbox, folderWithSecret(), forwardArgs(sandbox, receiver, ...words));
    expect(outcome.code).toBe(3);
    expect(monitor.pings).toEqual(['GET /ID?state=run&code=', 'GET /ID?state=fail&code=3']);
  });

  test('pings nothing at its end if --max-time has ended it, and a failure if a signal has', slow, async () => {
    for (const [reason, code, ends] of [
      [new TimeUp(), 75, []],
      [new Interruption('SIGTERM'), 143, ['GET /ID/fail']],
      [new Interruption('SIGINT'), 130, ['GET /ID/fail']],
    ] as const) {
      await using sandbox = await startSandbox({ holdings: 2_000, owners: 1, latency: 1 });
      const monitor = await startMonitor();
      const args = ['nfts', 'export', '--owner', ...sandbox.owners, '--to', 'out.csv', '--commit-every', '1'];
      const more = ['--rate', 'unlimited', '--page-size', '10', '--max-time', '1h', ...pinging(monitor)];
      const begun = () => sandbox.until(() => sandbox.counts.requests >= 8);
      const outcome = await interrupted(sandbox, [...args, ...more], reason, begun);
      expect(outcome.code).toBe(code);
      expect(monitor.pings).toEqual(['GET /ID/start', ...ends]);
    }
  });

  test('takes the URL from the environment, a file, or the defaults of a configuration', slow, async () => {
    await using sandbox = await startSandbox({ streams: 3 });
    const monitor = await startMonitor();
    const folder = temporaryFolder();
    writeFileSync(join(folder, 'ping.txt'), `${monitor.url}\n`, { mode: 0o600 });
    const run = async (args: readonly string[], variables?: Readonly<Record<string, string>>): Promise<void> => {
      const all = [...exportStreams, '--if-exists', 'overwrite', ...args];
      expect(await here(sandbox, folder, all, variables)).toMatchObject({ code: 0 });
    };
    await run(allowed, { SLUICE_PING: monitor.url });
    await run([...allowed, '--ping-file', 'ping.txt'], { SLUICE_PING: 'https://unused.invalid' });
    const config = { defaults: { pingFile: 'ping.txt', allowAddress: '127.0.0.1' } };
    writeFileSync(join(folder, 'sluice.config.json'), JSON.stringify(config));
    await run([]);
    await run(['--ping', monitor.url]);
    expect(monitor.pings).toEqual([...begunAndDone, ...begunAndDone, ...begunAndDone, ...begunAndDone]);
    expect(await here(sandbox, folder, ['sources'], { SLUICE_PING: monitor.url })).toMatchObject({ code: 0 });
    expect(monitor.pings).toHaveLength(8);
  });

  test('T2 refuses an address that is private, or no URL, before any request, and quotes only the host', async () => {
    await using sandbox = await startSandbox({ streams: 3 });
    const monitor = await startMonitor();
    const refusal = async (...args: string[]) => here(sandbox, temporaryFolder(), [...exportStreams, ...args]);
    const secure = monitor.url.replace('http:', 'https:');
    expect(await refusal('--ping', secure)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('127.0.0.1 is a loopback address, so nothing is sent there.'),
    });
    expect(await refusal('--ping', `http://h.example/${id}`)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('The URL of h.example is not encrypted'),
    });
    for (const wrong of [
      id,
      `ftp://h.example/${id}`,
      `https://h.example/${id}/{state}`,
      `https://h.example/{a|${id}}`,
    ]) {
      const { code, stderr } = await refusal('--ping', wrong);
      expect({ code, stderr }).toEqual({
        code: 2,
        stderr:
          'sluice: --ping must be a URL like https://hc-ping.com/ID, or one with {status}, {start|success|fail} in words of your own, or {code} in it.\n',
      });
    }
    expect(await refusal('--ping', monitor.url, '--ping-file', 'f')).toMatchObject({
      code: 2,
      stderr: 'sluice: --ping and --ping-file exclude each other: both say which URL to ping.\n',
    });
    expect([sandbox.counts.requests, monitor.pings.length]).toEqual([0, 0]);
  });

  test('T2 shows the URL in no output, no event, no state, and not in the command that resumes', slow, async () => {
    await using sandbox = await startSandbox({ holdings: 2_000, owners: 1, latency: 1 });
    const monitor = await startMonitor(404);
    for (const ping of [['--ping', monitor.url], [`--ping=${monitor.url}`]])
      for (const progress of ['plain', 'json']) {
        const folder = temporaryFolder();
        const args = ['nfts', 'export', '--owner', ...sandbox.owners, '--to', 'out.csv', '--page-size', '10'];
        const more = ['--commit-every', '1', '--rate', 'unlimited', '--progress', progress, ...ping, ...allowed];
        const { requests } = sandbox.counts;
        const begun = () => sandbox.until(() => sandbox.counts.requests >= requests + 8);
        const reason = new Interruption('SIGTERM');
        const { code, stderr, stdout } = await interrupted(sandbox, [...args, ...more], reason, begun, folder);
        expect(code).toBe(143);
        const state = readdirSync(join(folder, 'out.csv.sluice')).map((name) =>
          readFileSync(join(folder, 'out.csv.sluice', name), 'utf8'),
        );
        expect(`${stderr} ${stdout} ${state.join(' ')}`).not.toContain(id);
        expect(stderr).toContain('Replace the address that ends in');
      }
  });

  test(
    'whose monitor refuses it, or is not there, is told so by one warning with the host, and succeeds',
    slow,
    async () => {
      await using sandbox = await startSandbox({ streams: 3 });
      const monitor = await startMonitor(404);
      const { host } = new URL(monitor.url);
      const warning = `${host} could not be pinged (HTTP 404), so it may report that this run is missing.`;
      const args = [...exportStreams, '--if-exists', 'overwrite', ...pinging(monitor)];
      const folder = temporaryFolder();
      expect(await here(sandbox, folder, [...args, '--quiet'])).toEqual({
        code: 0,
        stdout: '',
        stderr: `sluice: ${warning}\n`,
      });
      expect(monitor.pings).toEqual(begunAndDone);
      const json = await here(sandbox, folder, [...args, '--progress', 'json']);
      expect(eventsIn(json.stderr).filter(({ event }) => event === 'warning')).toEqual([
        { event: 'warning', message: warning },
      ]);
      const nobody = ['--ping', 'http://127.0.0.1:1/', ...allowed];
      expect(await here(sandbox, folder, [...exportStreams, '--if-exists', 'overwrite', '--quiet', ...nobody])).toEqual(
        {
          code: 0,
          stdout: '',
          stderr:
            'sluice: 127.0.0.1:1 could not be pinged (connection refused), so it may report that this run is missing.\n',
        },
      );
    },
  );
});

test('C14 a monitor that never answers delays the end of a process, and nothing else', slow, async () => {
  await using sandbox = await startSandbox({ streams: 3 });
  const monitor = await startMonitor('never');
  const args = [...exportStreams, '--quiet', ...pinging(monitor)];
  const { ended } = startSluice(args, { cwd: temporaryFolder(), env: settingsFor(sandbox) });
  const { host } = new URL(monitor.url);
  expect(await ended).toEqual({
    code: 0,
    stdout: '',
    stderr: `sluice: ${host} could not be pinged (no response in time), so it may report that this run is missing.\n`,
  });
  expect(monitor.pings).toEqual(expect.arrayContaining(begunAndDone));
});

describe('C14 a watch with --ping', () => {
  test('pings once its polls succeed, and nothing when SIGTERM stops it', async () => {
    await using sandbox = await startSandbox({ streams: 3 });
    const monitor = await startMonitor();
    const args = watchArgs(...pinging(monitor));
    const outcome = await interrupted(sandbox, args, new Interruption('SIGTERM'), async () => {
      await monitor.until(2);
      await sandbox.until(() => sandbox.counts.requests >= 10);
    });
    expect(outcome.code).toBe(0);
    // Not more than once a minute.
    expect(monitor.pings).toEqual(begunAndDone);
  });

  test('of one poll pings how it ended', async () => {
    await using sandbox = await startSandbox({ streams: 3 });
    const monitor = await startMonitor();
    const once = watchArgs('--polls', '1', ...pinging(monitor));
    expect((await here(sandbox, temporaryFolder(), once)).code).toBe(0);
    expect(monitor.pings).toEqual(begunAndDone);
    expect((await here(sandbox, temporaryFolder(), [...once, '--retry-for', '0s'], nowhere)).code).toBe(1);
    expect(monitor.pings.slice(2)).toEqual(begunAndFailed);
  });

  test('does not ping while health checks fail, although polls succeed', slow, async () => {
    await using sandbox = await startSandbox({ streams: 3 });
    await using receiver = await startReceiver({ script: () => ({ status: 503 }) });
    const health = await freePort();
    const environment = testEnvironment({ folder: folderWithSecret(), variables: settingsFor(sandbox) });
    let pings = 0;
    const args = forwardWatchArgs(receiver, '--health', String(health));
    const watching = main(args, { ...environment, pingWell: () => (pings += 1) });
    await expect.poll(() => pings).toBeGreaterThan(0);
    const answers = async () => (await fetch(`http://127.0.0.1:${health}`)).status;
    await expect.poll(answers, { timeout: 60_000 }).toBe(503);
    const before = pings;
    await polled(sandbox, 5);
    expect(pings).toBe(before);
    environment.interrupt(new Interruption('SIGTERM'));
    expect(await watching).toBe(0);
  });
});

test.skipIf(redisProgram === undefined)(
  'C14 a worker of a cluster with --ping pings its start and its end',
  slow,
  async () => {
    await using sandbox = await startSandbox({ streams: 3 });
    const redis = await startRedis();
    onTestEnd(() => redis.close());
    const monitor = await startMonitor();
    const args = ['cluster', 'work', '--until-done', '--redis', redis.url, ...pinging(monitor)];
    expect(await here(sandbox, temporaryFolder(), args)).toMatchObject({ code: 0 });
    expect(monitor.pings).toEqual(begunAndDone);
  },
);

describe('the URL of a ping', () => {
  const urlsOf = (template: string) =>
    (['start', 'success', 'fail'] as const).map((status) =>
      pingUrl(template, status, status === 'start' ? undefined : 7),
    );

  test.each<[string, (string | undefined)[]]>([
    ['https://h/ID', ['https://h/ID/start', 'https://h/ID', 'https://h/ID/fail']],
    ['https://h/ID/', ['https://h/ID/start', 'https://h/ID/', 'https://h/ID/fail']],
    ['https://h/ID?create=1', ['https://h/ID/start?create=1', 'https://h/ID?create=1', 'https://h/ID/fail?create=1']],
    ['https://h/ID/{code}', [undefined, 'https://h/ID/7', 'https://h/ID/7']],
    [
      'https://h/ID?s={status}&c={code}',
      ['https://h/ID?s=start&c=', 'https://h/ID?s=success&c=7', 'https://h/ID?s=fail&c=7'],
    ],
    ['https://h/{run|complete|fail}/ID', ['https://h/run/ID', 'https://h/complete/ID', 'https://h/fail/ID']],
    ['https://h/ID?status={|up|down}', [undefined, 'https://h/ID?status=up', 'https://h/ID?status=down']],
  ])('of %s', (template, urls) => {
    expect(urlsOf(template)).toEqual(urls);
  });

  test('is a secret, and so are its long parts', async () => {
    const environment = testEnvironment({ variables: { SLUICE_PING: `https://h.example/p/${id}/nightly?t={status}` } });
    await findPing({}, environment);
    expect([...environment.secrets]).toEqual([`https://h.example/p/${id}/nightly?t={status}`, id]);
  });
});

describe('a monitor', () => {
  function openFake(outcomes: readonly ('ok' | 'fail' | 'never')[] = []) {
    const clock = new FakeClock();
    const sent: (readonly [PingStatus, number | undefined])[] = [];
    const failures: unknown[] = [];
    const monitor = openMonitor({
      clock,
      onFailed: (error) => failures.push(error),
      async send(status, code, signal) {
        signal.throwIfAborted();
        const outcome = outcomes[sent.length] ?? 'ok';
        sent.push([status, code]);
        if (outcome === 'fail') throw new HttpError('No.', { status: 500, excerpt: '' });
        if (outcome === 'never')
          await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
      },
    });
    return { clock, sent, failures, monitor };
  }

  test('is told at most once a minute that a watch is well', async () => {
    const { clock, sent, monitor } = openFake();
    monitor.begin();
    for (let second = 0; second < 125; second += 5) {
      monitor.pingWell();
      await clock.advance(5_000);
    }
    expect(sent).toEqual([['start', undefined], ...Array.from({ length: 3 }, () => ['success', 0])]);
  });

  test('that does not answer delays the end by five seconds, and is warned of once', async () => {
    const { clock, sent, failures, monitor } = openFake(['never', 'never']);
    monitor.begin();
    const ended = monitor.end(1);
    await clock.advance(2_000);
    expect(sent).toEqual([
      ['start', undefined],
      ['fail', 1],
    ]);
    await clock.advance(3_000);
    await ended;
    expect([clock.monotonic(), failures.length]).toEqual([5_000, 1]);
  });

  test('that fails is warned of again after it has succeeded', async () => {
    const { clock, failures, monitor } = openFake(['fail', 'fail', 'ok', 'fail', 'fail']);
    monitor.begin();
    for (let minute = 0; minute < 4; minute += 1) {
      monitor.pingWell();
      await clock.advance(60_000);
    }
    expect(failures).toHaveLength(2);
  });

  test.each([undefined, 75])('is told of no end with %s', async (code) => {
    const { clock, sent, monitor } = openFake();
    monitor.begin();
    const ended = monitor.end(code);
    await clock.advance(0);
    await ended;
    expect(sent).toEqual([['start', undefined]]);
  });
});
