// @module-tag slow
import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { once } from 'node:events';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { startReceiver, startSandbox } from '@sluice/sandbox';
import { format } from 'prettier';
import { transformSync } from 'esbuild';
import { describe, expect, test } from 'vitest';
import { gitlabAnswers } from '../examples/servers/gitlab.js';
import { readTable } from '../packages/cli/test/readTable.js';
import { queryDuck } from '../packages/exporters/test/duckdb.js';
import { byOffsetAndTotal, startListing } from '../examples/servers/listingServer.js';
import { someOf } from '../scripts/testEffort.js';
import { onTestEnd } from '../scripts/testScope.js';
import { run as runScript } from './run.js';
import { codeIn, runShown } from './shownCode.js';
import { openDatabase, postgresPrograms } from './kit/postgresServer.js';
import { redisProgram, startRedis } from './kit/redisServer.js';
import { temporaryFolder } from './kit/temporaryFolder.js';

const root = join(import.meta.dirname, '..');
const folder = join(root, 'docs', 'guides');
const secret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
const schedule = /^(?:\S+ ){5}/;

const guides = readdirSync(folder)
  .map((name) => ({ name, guide: readFileSync(join(folder, name), 'utf8') }))
  .filter(({ guide }) => codeIn(guide, 'sh').length > 0)
  .filter(({ guide }) => redisProgram !== undefined || !needsRedis(guide));

/** Whether a guide is about several machines. */
function needsRedis(guide: string): boolean {
  return codeIn(guide, 'sh').some((code) => code.includes('sluice cluster'));
}

describe.concurrent.each(someOf(guides))('the guide $name', ({ guide }) => {
  test('shows commands that run', async () => {
    await using sandbox = await startSandbox();
    await using receiver = await startReceiver({ secrets: [secret] });
    const coins = await startListing<unknown>(byOffsetAndTotal, [{ id: 'eur', name: 'Euro', price: 1.1 }]);
    onTestEnd(() => coins.close());
    const redis = needsRedis(guide) ? await startRedis() : undefined;
    onTestEnd(async () => redis?.close());
    for (const code of codeIn(guide, 'sh')) {
      const cwd = temporaryFolder();
      writeFileSync(join(cwd, 'wallets.txt'), sandbox.owners.join('\n'));
      writeFileSync(join(cwd, 'secret'), `${secret}\n`);
      // The folder contains the plugins of the page, their dependencies, and the configuration that names the plugins.
      cpSync(join(root, 'examples/plugins'), cwd, { recursive: true });
      symlinkSync(join(root, 'examples/node_modules'), join(cwd, 'node_modules'));
      const json = configIn(guide, 'json');
      const ts = configIn(guide, 'ts');
      const config = (json ?? ts)?.replace('https://coins.example.com', coins.baseUrl);
      if (config) writeFileSync(join(cwd, `sluice.config.${json ? 'json' : 'ts'}`), config);
      // The guide's services run on this machine; the address of the one that is sent to must be allowed.
      const here = code
        .replaceAll('https://hooks.example.com/changes', `${receiver.url} --allow-address 127.0.0.1`)
        .replaceAll('https://coins.example.com', coins.baseUrl);
      const variables = redis && { SLUICE_REDIS_URL: redis.url };
      const outcome = await runShown(`set -e; ${here}`, { sandbox, cwd, ...(variables && { variables }) });
      expect({ shown: code, ...outcome }).toMatchObject({ code: 0 });
    }
    expect(receiver.counts).toMatchObject({ refused: 0, differing: 0, doubled: 0 });
    expect(receiver.counts.accepted > 0).toBe(codeIn(guide, 'sh').some((code) => code.includes('--forward ')));
  });
});

function configIn(guide: string, language: string): string | undefined {
  return codeIn(guide, language).find((code) => /"plugins"|defineConfig/.test(code));
}

describe.concurrent('the guide parquet.md', () => {
  test('D7 shows queries that DuckDB runs', async () => {
    const guide = readFileSync(join(folder, 'parquet.md'), 'utf8');
    await using sandbox = await startSandbox({ nasty: 0 });
    const cwd = temporaryFolder();
    const [command = ''] = codeIn(guide, 'sh');
    const shown = command.replace('0x1', sandbox.owners.join(' '));
    expect(await runShown(`set -e; ${shown}`, { sandbox, cwd })).toMatchObject({ code: 0 });
    const queries = codeIn(guide, 'sql').flatMap((code) => code.split(';').filter((query) => query.trim() !== ''));
    expect(queries).toHaveLength(2);
    for (const query of queries) {
      const { rows } = await queryDuck(query.replace("'holdings.parquet'", `'${join(cwd, 'holdings.parquet')}'`));
      expect(rows.length, query).toBeGreaterThan(0);
    }
  });
});

describe.concurrent('the guide excel.md', () => {
  test('says what the file contains', async () => {
    const [shown = ''] = codeIn(readFileSync(join(folder, 'excel.md'), 'utf8'), 'sh');
    const names = ['=SUM(A1:A9)', 'café', '-1'];
    const amount = '12345678901234567890';
    await using sandbox = await startSandbox();
    const cwd = temporaryFolder();
    const listing = { owner_address: '0x1', amount, last_transaction_timestamp: '2026-03-01T14:05:09.120Z' };
    const server = await startListing(
      (_, rows) => ({ body: { result: rows, cursor: '', hasNextPage: false } }),
      names.map((name, nth) => ({ ...listing, name, token_data_id_hash: `00${nth}` })),
    );
    onTestEnd(() => server.close());
    const code = `${shown.trim()} --columns name,amount,last_transaction_timestamp`;
    const variables = { SLUICE_APTOS_URL: server.baseUrl };
    expect(await runShown(code, { sandbox, cwd, variables })).toMatchObject({ code: 0 });
    const row = (name: string) => `${name},${amount},2026-03-01T14:05:09.120Z\r\n`;
    expect(readFileSync(join(cwd, 'holdings.csv'), 'utf8')).toBe(
      '\uFEFFname,amount,last_transaction_timestamp\r\n' + ["'=SUM(A1:A9)", 'café', '-1'].map(row).join(''),
    );
  });
});

describe.concurrent('the guide mirrorTable.md', () => {
  test('D5 shows a query of the rows that are not removed', async () => {
    const guide = readFileSync(join(folder, 'mirrorTable.md'), 'utf8');
    await using sandbox = await startSandbox({ streams: 5, nasty: 0 });
    const cwd = temporaryFolder();
    const shown = codeIn(guide, 'sh').find((code) => code.includes('--deleted-at')) ?? '';
    const [query = ''] = codeIn(guide, 'sql');
    // A removal is certain after two polls.
    for (const [run, left] of [5, 5, 4].entries()) {
      expect(await runShown(`set -e; ${shown}`, { sandbox, cwd })).toMatchObject({ code: 0 });
      expect(readTable(join(cwd, 'streams.sqlite'), query)).toEqual([[left]]);
      if (run === 0) sandbox.removeStream(0);
    }
  });
});

describe.concurrent('the guide history.md', () => {
  test('D9 shows queries of what was, from when until when, and how it ended', async () => {
    const guide = readFileSync(join(folder, 'history.md'), 'utf8');
    await using sandbox = await startSandbox({ streams: 3, nasty: 0 });
    const cwd = temporaryFolder();
    const [shown = ''] = codeIn(guide, 'sh');
    const queries = codeIn(guide, 'sql');
    const ask = (query = '') => readTable(join(cwd, 'history.sqlite'), query);
    sandbox.setStream(0, { status: 'active' });
    expect(await runShown(`set -e; ${shown}`, { sandbox, cwd })).toMatchObject({ code: 0 });
    const [[, then] = []] = ask(queries[1]);
    const statuses = queries[0]?.replaceAll(/'20[^']*'/g, `'${String(then)}'`);
    const before = ask(statuses);
    sandbox.setStream(0, { status: 'error' });
    sandbox.removeStream(1);
    expect(await runShown(`set -e; ${shown}`, { sandbox, cwd })).toMatchObject({ code: 0 });
    expect(ask(statuses)).toEqual(before);
    const [[first, last] = []] = ask(queries[1]);
    expect([String(first) < String(then), String(last) > String(then)]).toEqual([true, true]);
    const changed = ask(queries[2]).filter(([, , , until], nth, all) => until !== null && all[nth + 1]?.[3] === null);
    expect(changed).toEqual([[expect.any(String), 'active', expect.any(String), expect.any(String)]]);
    expect(ask(queries[3]).map(([, , status, ended]) => [status, ended])).toContainEqual(['active', 'changed']);
    expect(
      ask(queries[3])
        .map(([, , , ended]) => ended)
        .sort(),
    ).toEqual(['changed', 'removed']);
    expect(ask(queries[4])).toEqual([]);
    const compact = codeIn(guide, 'console').find((code) => code.includes('history compact')) ?? '';
    expect(await runShown(`set -e; ${compact}`, { sandbox, cwd })).toMatchObject({ code: 0 });
    expect(ask(queries[3])).toHaveLength(2);
  });
});

describe.concurrent('the guide streamFails.md', () => {
  const guide = readFileSync(join(folder, 'streamFails.md'), 'utf8');
  const failing = { status: 'error', statusMessage: 'The webhook answered 503 to 12 deliveries in a row' };

  test('C4 has a line for cron that prints what changed since the previous run, and nothing else', async () => {
    await using sandbox = await startSandbox({ streams: 3, nasty: 0 });
    const cwd = temporaryFolder();
    mkdirSync(join(cwd, 'lib'));
    const [crontab = ''] = codeIn(guide, 'cron');
    expect(crontab).toMatch(schedule);
    const line = crontab.replace(schedule, '').replace('/var/lib/sluice', join(cwd, 'lib'));
    sandbox.setStream(0, { status: 'active' });
    const runs = [];
    for (const status of ['active', 'active', 'error', 'error', 'paused']) {
      sandbox.setStream(0, { ...failing, tag: 'bridge-swap-2', status });
      runs.push(await runShown(line, { sandbox, cwd }));
    }
    expect(runs.map(({ code }) => code)).toEqual([0, 0, 0, 0, 0]);
    const printed = runs.map(({ output }) => output.slice('2026-03-01 14:05:09'.length));
    const [example = ''] = codeIn(guide, '').map((shown) => shown.slice('2026-03-01 14:05:09'.length));
    expect(printed).toEqual(['', '', example, '', example.replace('active -> error', 'error -> paused')]);
  });

  test('sends a mail when a stream fails, and none for other changes', async () => {
    await using sandbox = await startSandbox({ streams: 3, nasty: 0 });
    const cwd = temporaryFolder();
    const mailing = codeIn(guide, 'sh').find((code) => code.includes('mail '))!;
    sandbox.setStream(0, { status: 'active' });
    sandbox.setStream(1, { status: 'active' });
    expect((await runShown(mailing, { sandbox, cwd })).mails).toEqual([]);
    sandbox.setStream(0, failing);
    sandbox.setStream(1, { status: 'paused' });
    const { mails, output } = await runShown(mailing, { sandbox, cwd });
    expect(mails).toEqual([expect.stringContaining(`active -> error  ${failing.statusMessage}`)]);
    expect(output).toBe('');
    expect((await runShown(mailing, { sandbox, cwd })).mails).toEqual([]);
  });
});

describe.concurrent('the guide slack.md', () => {
  const guide = readFileSync(join(folder, 'slack.md'), 'utf8');
  const [piped = '', intoSink = ''] = codeIn(guide, 'console').map((code) => code.replace(/^export .*\n/, ''));

  /** Takes one message at a time, with nothing but its text. */
  async function startSlack() {
    const texts: string[] = [];
    const answers: number[] = [];
    let free = 0;
    const answer = (body: string): number => {
      if (!/^\{"text":"[^"]*"\}\s*$/.test(body)) return 400;
      if (Date.now() < free) return 429;
      free = Date.now() + 900;
      texts.push((JSON.parse(body) as { text: string }).text);
      return 200;
    };
    const server = createServer((request, response) => {
      void text(request).then((body) => {
        const status = answer(body);
        answers.push(status);
        response.writeHead(status, { 'retry-after': '1' }).end(status === 400 ? 'invalid_payload' : 'ok');
      });
    });
    server.listen(0, '127.0.0.1');
    onTestEnd(() => void server.close());
    await once(server, 'listening');
    return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/services/T0/B0`, texts, answers };
  }

  test.each([
    ['a pipe', piped, 'active -> error  5 < 6', [200, 429]],
    // It sends no more than one message per second.
    ['a sink', `${intoSink.trim()} --polls 1`, 'active -&gt; error 5 &lt; 6', [200]],
  ])('W1 posts each change once, as Slack wants it, by %s', async (_, code, change, answers) => {
    const slack = await startSlack();
    await using sandbox = await startSandbox({ streams: 3, nasty: 0 });
    const cwd = temporaryFolder();
    cpSync(join(root, 'examples/plugins'), cwd, { recursive: true });
    symlinkSync(join(root, 'examples/node_modules'), join(cwd, 'node_modules'));
    const plugins = [['./slackMessages.ts', { allowAddresses: ['127.0.0.1'] }]];
    writeFileSync(join(cwd, 'sluice.config.json'), JSON.stringify({ plugins }));
    const variables = { SLACK_URL: slack.url, SLACK_ALERTS_URL: slack.url };
    for (const status of ['active', 'error', 'error']) {
      for (const nth of [0, 1]) sandbox.setStream(nth, { tag: `s${nth}`, status, statusMessage: '5 < 6' });
      const outcome = await runShown(`set -o pipefail; ${code}`, { sandbox, cwd, variables });
      expect(outcome).toEqual({ code: 0, output: expect.anything(), mails: [] });
    }
    expect(slack.texts).toEqual(['s0', 's1'].map((tag) => expect.stringMatching(`${tag}.* ${change}$`)));
    expect(slack.answers).toEqual(expect.arrayContaining(answers));
  });
});

describe.concurrent('the guide apiKinds.md', () => {
  test('A5 has a line for cron that appends to a file what is new', async () => {
    const [crontab = ''] = codeIn(readFileSync(join(folder, 'apiKinds.md'), 'utf8'), 'cron');
    expect(crontab).toMatch(schedule);
    const token = 'glpat-of-an-example';
    const issueOf = (iid: number) => ({ iid, title: `Issue ${iid}`, state: 'opened', updated_at: dayOf(iid) });
    const dayOf = (nth: number): string => new Date(Date.UTC(2026, 0, 1 + nth)).toISOString();
    const server = await startListing(
      gitlabAnswers(token),
      Array.from({ length: 120 }, (_, iid) => issueOf(iid)),
    );
    onTestEnd(() => server.close());
    await using sandbox = await startSandbox();
    const cwd = temporaryFolder();
    cpSync(join(root, 'examples/plugins'), cwd, { recursive: true });
    symlinkSync(join(root, 'examples/node_modules'), join(cwd, 'node_modules'));
    const plugins = [['./gitlab.ts', { baseUrl: new URL(server.baseUrl).origin }]];
    writeFileSync(join(cwd, 'sluice.config.json'), JSON.stringify({ plugins }));
    const line = crontab.replace(schedule, '').replace('/var/lib/sluice', cwd).replaceAll('\\%', '%');
    let before = 0;
    const runOnce = async (): Promise<number[]> => {
      const outcome = await runShown(`export GITLAB_TOKEN=${token}; ${line}`, { sandbox, cwd });
      expect(outcome).toMatchObject({ code: 0, output: '' });
      const text = readFileSync(join(cwd, 'issues.jsonl'), 'utf8');
      const added = text.slice(before);
      before = text.length;
      return added.split('\n').flatMap((row) => (row === '' ? [] : [(JSON.parse(row) as { iid: number }).iid]));
    };
    expect((await runOnce()).length).toBe(120);
    server.rows.push(issueOf(120), issueOf(121));
    expect(await runOnce()).toEqual([120, 121]);
    expect(await runOnce()).toEqual([]);
  });
});

describe.concurrent('the guide everyNight.md', () => {
  const guide = readFileSync(join(folder, 'everyNight.md'), 'utf8');
  const night = 86_400_000;

  /** A machine on which a line is run night after night, while the streams change. */
  async function machine(variables: Readonly<Record<string, string>> = {}) {
    let left = Infinity;
    let nights = 0;
    const isRefused = (): boolean => (left -= 1) < 0;
    const sandbox = await startSandbox({
      streams: 40,
      nasty: 0,
      script: () => (isRefused() ? { kind: 'status', status: 403 } : undefined),
    });
    onTestEnd(() => sandbox.close());
    const cwd = temporaryFolder();
    writeFileSync(join(cwd, 'key'), sandbox.apiKey);
    writeFileSync(join(cwd, 'sluice.config.json'), JSON.stringify({ defaults: { commitEvery: 1, pageSize: 10 } }));
    // Each night has a clock of its own.
    const clock = `const now = Date.now; Date.now = () => now() + Number(process.env.NIGHT) * ${night};`;
    writeFileSync(join(cwd, 'clock.mjs'), clock);
    return {
      cwd,
      /** Runs a line, so many nights later. It is interrupted after some requests. */
      async run(line: string, { later = 1, requests = Infinity } = {}) {
        [left, nights] = [requests, nights + later];
        const tag = `night ${nights}`;
        sandbox.setStream(0, { tag });
        sandbox.setStream(39, { tag });
        const before = sandbox.counts.requests;
        const here = line
          .replaceAll('\\%', '%')
          .replaceAll(/\/(?:var\/lib|etc)\/sluice/g, cwd)
          .replaceAll('$(date ', `$(date -u -d '${nights} days' `);
        const moved = { NODE_OPTIONS: `--import ${join(cwd, 'clock.mjs')}`, NIGHT: String(nights) };
        const { code, output } = await runShown(here, { sandbox, cwd, variables: { ...moved, ...variables } });
        return { code, output, requests: sandbox.counts.requests - before };
      },
    };
  }

  const crontabs = codeIn(guide, 'cron');
  const [intoTable = '', intoFile = '', changed = '', inSlices = ''] = crontabs.map((line) =>
    line.replace(schedule, ''),
  );
  const [ofService = '', ofWatch = ''] = codeIn(guide, 'ini').flatMap(
    (unit) => /^ExecStart=(.*)$/m.exec(unit)?.[1] ?? [],
  );
  const manifests = codeIn(guide, 'yaml');
  const [, ofWorkflow = ''] =
    /^ {6}- run: (sluice .*)$/m.exec(manifests.find((code) => code.includes('jobs:')) ?? '') ?? [];
  /** The command lines of containers. */
  const [ofCronJob = '', ofDeployment = ''] = manifests.flatMap((code) => {
    const [, command] = /^ +command: \[(.*)\]\n +args:$/m.exec(code) ?? [];
    if (command === undefined) return [];
    const args = [...code.matchAll(/^ +- (--.*)$/gm)].map(([, arg = '']) => `'${arg}'`);
    return [[command.replaceAll(', ', ' '), ...args].join(' ')];
  });

  test('D2 has a line for cron that brings a table up to date, also after interrupted nights', async () => {
    const { cwd, run } = await machine();
    const tags = () =>
      readTable(join(cwd, 'streams.sqlite'), "SELECT tag FROM streams WHERE tag LIKE 'night%' ORDER BY tag").flat();
    const done = (requests: number) => ({ code: 0, output: '', requests });
    expect(await run(intoTable)).toEqual(done(4));
    expect(await run(intoTable)).toEqual(done(4));
    expect(tags()).toEqual(['night 2', 'night 2']);
    expect(await run(intoTable, { requests: 2 })).toMatchObject({ code: 1, output: expect.stringContaining('403') });
    expect(tags()).toEqual(['night 2', 'night 2']);
    expect(await run(intoTable, { later: 0.25 })).toMatchObject({
      code: 0,
      requests: 2,
      output: expect.stringContaining('were read by an interrupted run'),
    });
    expect(tags()).toEqual(['night 3', 'night 3.25']);
    expect(await run(intoTable, { requests: 3 })).toMatchObject({ code: 1 });
    // A night is a bit shorter than a day, since the last commit was later than the start.
    expect(await run(intoTable, { later: 0.9 })).toEqual(done(4));
    expect(tags()).toEqual(['night 5.15', 'night 5.15']);
  });

  test('E1 has a line for cron that writes a file each night, and says if it is complete', async () => {
    for (const line of crontabs) expect(line).toMatch(schedule);
    const { cwd, run } = await machine();
    expect(await run(intoFile)).toEqual({ code: 0, output: '', requests: 4 });
    expect(await run(intoFile, { requests: 2 })).toMatchObject({ code: 1 });
    expect(await run(intoFile, { later: 0 })).toEqual({ code: 0, output: '', requests: 2 });
    expect(await run(intoFile, { later: 0 })).toMatchObject({
      code: 0,
      requests: 0,
      output: expect.stringMatching(/^sluice: .*\.csv is complete \(40 rows/),
    });
    const files = readdirSync(cwd).filter((name) => name.endsWith('.csv'));
    expect(files.map((name) => readFileSync(join(cwd, name), 'utf8').trimEnd().split('\r\n').length)).toEqual([41, 41]);
  });

  test('C4 has a line for cron that prints what changed since the night before, also after one that failed', async () => {
    const { run } = await machine();
    expect(await run(changed)).toMatchObject({
      code: 0,
      output: expect.stringMatching(/ 40 streams at the start: .*\n$/),
    });
    expect(await run(changed, { requests: 2 })).toMatchObject({ code: 1 });
    const { code, output } = await run(changed);
    expect([code, output.trimEnd().split('\n').length]).toEqual([0, 2]);
  });

  test('T4 has a line for cron, and a service of Docker Compose, that end in time and go on in the next slice', async () => {
    const { cwd, run } = await machine();
    const [, inContainer = ''] = /^ +command: (sluice .*)$/m.exec(manifests.join('\n')) ?? [];
    for (const line of [inSlices, inContainer.replace('/data', cwd)]) {
      expect(await run(line, { requests: 2 })).toMatchObject({ code: 1 });
      expect(await run(line.replace(/--max-time \S+/, '--max-time 1ms'), { later: 0 })).toMatchObject({
        code: 1,
        output: expect.stringMatching(/--max-time[^]* Give it more time\./),
      });
      expect(await run(line, { later: 0 })).toMatchObject({ code: 0, requests: 2 });
    }
  });

  test('D2 has a service and a timer of systemd that resume a failed night', async () => {
    const { cwd, run } = await machine();
    expect(codeIn(guide, 'ini')[1]).toMatch(/^OnCalendar=\*-\*-\* 02:00:00$/m);
    for (const requests of [Infinity, 3]) await run(ofService, { requests });
    // As `Restart` does.
    expect(await run(ofService, { later: 0 })).toEqual({ code: 0, output: '', requests: 1 });
    const found = readTable(join(cwd, 'streams.sqlite'), "SELECT count(*), sum(tag LIKE 'night%') FROM streams");
    expect(found).toEqual([[40, 2]]);
  });

  test.runIf(existsSync('/usr/bin/systemd-analyze'))('has units in which systemd finds no fault', () => {
    const cwd = temporaryFolder();
    const all = guide + readFileSync(join(folder, 'severalMachines.md'), 'utf8');
    const units = [...all.matchAll(/`\/etc\/systemd\/system\/(\S+)`.*?```ini\n(.*?)^```/gms)];
    expect(units.map(([, name]) => name)).toEqual([
      'sluice.service',
      'sluice.timer',
      'sluice-watch.service',
      'sluice-worker.service',
    ]);
    const paths = units.map(([, name = '', unit = '']) => {
      writeFileSync(join(cwd, name), unit);
      return join(cwd, name);
    });
    // It exits with 0 if it only ignores a key.
    const { status, stdout, stderr } = spawnSync('systemd-analyze', ['verify', ...paths], { encoding: 'utf8' });
    expect({ status, stdout, stderr }).toEqual({ status: 0, stdout: '', stderr: '' });
  });

  test('has manifests that are YAML, with the names of Kubernetes and GitHub', async () => {
    for (const code of manifests) expect(await format(code, { parser: 'yaml', singleQuote: true })).toBe(code);
    const kinds = manifests.map((code) => /^kind: \w+$|^(?:jobs|services):$|^- uses: \S+(?=@)/m.exec(code)?.[0]);
    expect(kinds).toEqual(['kind: CronJob', 'services:', 'jobs:', '- uses: actions/cache', 'kind: Deployment']);
  });

  test('C12 has a service whose watch answers health checks', async () => {
    await using receiver = await startReceiver({ secrets: [secret] });
    const { cwd, run } = await machine();
    writeFileSync(join(cwd, 'secret'), secret);
    const line = ofWatch
      .replace('https://hooks.example.com/streams', `${receiver.url} --allow-address 127.0.0.1`)
      .replace('--health 8080 --dashboard 4792', '--health 0');
    const { code, output } = await run(line);
    expect({ code, output }).toEqual({ code: 0, output: expect.stringMatching(/Health checks are answered at http:/) });
  });

  test.runIf(postgresPrograms !== undefined)(
    'D2 has a workflow of GitHub, a CronJob and a Deployment that keep nothing but their table',
    async () => {
      const server = await openDatabase();
      const atServer = (line: string) => line.replace('postgres://me@db.example.com/wallets', server.url);
      const line = atServer(ofWorkflow);
      expect(ofCronJob.replaceAll("'", '').replaceAll('=', ' ')).toBe(ofWorkflow.replaceAll("'", '').replace('=', ' '));
      const changed = () => server.query("SELECT count(*) FROM streams WHERE tag LIKE 'night%'");
      const { cwd, run } = await machine();
      for (const night of [{}, { requests: 3 }, { later: 0.5 }]) {
        await run(line, night);
        expect((await changed()).trim()).toBe('2');
        for (const name of readdirSync(cwd)) expect(name).toMatch(/^(key|clock\.mjs|sluice\.config\.json)$/);
      }
      expect(await run(line)).toMatchObject({ code: 0, requests: 4 });
      const watched = atServer(ofDeployment)
        .replace('table=streams', 'table=mirror')
        .replace('0.0.0.0:8080', '0.0.0.0:0');
      expect(await run(watched)).toMatchObject({ code: 0, output: expect.stringContaining('at http://0.0.0.0:') });
      expect((await server.query('SELECT count(*) FROM mirror')).trim()).toBe('40');
      expect(readdirSync(cwd)).toHaveLength(3);
    },
  );
});

describe.concurrent('the guide composePipeline.md', () => {
  const [own = '', patient = ''] = ['const failing', 'const patient'].map((begin) =>
    codeIn(readFileSync(join(folder, 'composePipeline.md'), 'utf8'), 'ts').find((code) => code.includes(begin)),
  );

  test.each([
    ['with onFailure', own, 'failing'],
    ['with isTransient', patient.replaceAll('30_000', 'every'), 'patient'],
  ])('T4 %s polls through an outage, and ends on a wrong key and when the client is closed', async (_, code, name) => {
    const cwd = temporaryFolder();
    symlinkSync(join(root, 'examples/node_modules'), join(cwd, 'node_modules'));
    const program = `
      import { changes, createClient, isTransient, poll, type SluiceError } from '@sluice/core';
      import { streams } from '@sluice/streams';
      import { distinctUntilChanged, filter, map, retry, throwError, timer } from 'rxjs';
      const [every, [, , baseUrl = '', apiKey = '']] = [20, process.argv];
      const client = createClient({ apiKey, rateLimit: false, retry: { retries: 0 } }).use(streams({ baseUrl }));
      ${code}
      ${name}.subscribe({
        next: () => process.argv.includes('close') && void client.close(),
        error: (error: SluiceError) => console.log('ended: ' + error.message),
      });`;
    const { code: script } = transformSync(program, { loader: 'ts', format: 'esm' });
    writeFileSync(join(cwd, 'program.mjs'), script);
    const run = (...args: string[]) => runScript(['program.mjs', ...args], cwd, {});
    await using sandbox = await startSandbox({
      script: ({ n }) => (n <= 3 ? { kind: 'status', status: 503 } : undefined),
    });
    const { streamsUrl, apiKey } = sandbox;
    expect(await run(streamsUrl, apiKey, 'close')).toEqual({
      code: 0,
      output: expect.stringMatching(/ended: .*the client was closed/),
    });
    expect(sandbox.counts.requests).toBeGreaterThanOrEqual(4);
    expect(await run(streamsUrl, 'a-wrong-key')).toEqual({
      code: 0,
      output: expect.stringMatching(/^ended: .* responded with 401/),
    });
  });
});
