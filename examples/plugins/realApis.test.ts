// Five APIs of different kinds pass the suite for sources, against servers that respond as theirs do.
// After `npm start`: cd examples && npx tsx plugins/realApis.test.ts
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { createClient, exportTo, type Client, type Source } from '@sluice/core';
import { fileState } from '@sluice/core/node';
import { jsonl } from '@sluice/exporters/jsonl';
import { testSource } from '@sluice/testing';
import { z } from 'zod';
import { githubAnswers, GithubQuota } from '../servers/github.js';
import { gitlabAnswers, type GitlabIssue } from '../servers/gitlab.js';
import { linearAnswers } from '../servers/linear.js';
import { startListing, type Answering, type ListingServer } from '../servers/listingServer.js';
import { mailchimpAnswers } from '../servers/mailchimp.js';
import { stravaAnswers, type StravaAccount } from '../servers/strava.js';
import { temporaryFolder } from '../temporaryFolder.js';
import { github } from './github.js';
import { githubRepos } from './githubRepos.js';
import { gitlab } from './gitlab.js';
import { linear } from './linear.js';
import { mailchimp } from './mailchimp.js';
import { strava } from './strava.js';

const secrets = {
  GITHUB_TOKEN: 'ghp_of_an_example',
  LINEAR_API_KEY: 'lin_api_example',
  MAILCHIMP_API_KEY: 'mailchimp-key-of-an-example-us1',
  GITLAB_TOKEN: 'glpat-of-an-example',
  STRAVA_CLIENT_SECRET: 'client-secret-of-an-example',
};

/** Without retries, so that the suite sees each failure at once. */
const opened = () =>
  createClient({ apiKey: 'key-of-other-apis', rateLimit: false, retry: { retries: 0 }, variables: secrets });

const folder = temporaryFolder();

/** A new account, whose first refresh token is in a file. */
function stravaAccount() {
  const account: StravaAccount = {
    clientSecret: secrets.STRAVA_CLIENT_SECRET,
    refreshToken: 'refresh-token-0',
    issued: [],
  };
  const tokenFile = join(mkdtempSync(join(folder, 'strava-')), 'token');
  writeFileSync(tokenFile, `${account.refreshToken}\n`);
  return { account, tokenFile };
}

type Server = Pick<ListingServer<unknown>, 'baseUrl' | 'sent' | 'counts' | 'answer' | 'close'>;

interface Case {
  readonly start: () => Promise<Server>;
  readonly open: (baseUrl: string) => Opened | Promise<Opened>;
  /** Of an API that reports its quota. */
  readonly useUpQuota?: (seconds: number) => void;
  /** Of an API that has page numbers only, also in its links. */
  readonly areRowsStill?: boolean;
}

interface Opened {
  readonly client: Client;
  readonly source: () => Source<object>;
}

const day = (index: number) => new Date(Date.UTC(2026, 0, 1 + index)).toISOString();
const made = <Row>(row: (index: number) => Row): Row[] => Array.from({ length: 25 }, (_, index) => row(index + 1));
const issueOf = (iid: number): GitlabIssue => ({ iid, title: `Issue ${iid}`, state: 'opened', updated_at: day(iid) });
const memberOf = (audience: string, nth: number) => ({
  audience,
  id: `m${nth}`,
  email_address: `m${nth}@example.com`,
  status: 'subscribed',
});
const { account, tokenFile } = stravaAccount();
const plenty = new GithubQuota({ requests: 36_000_000 });

const cases: Record<string, Case> = {
  'github.issues': {
    start: () => {
      const rows = made((number) => ({ number, title: `Issue ${number}`, state: 'open' }));
      return startListing(githubAnswers(secrets.GITHUB_TOKEN, plenty), rows);
    },
    useUpQuota: (seconds) => plenty.useUp(seconds),
    areRowsStill: true,
    open(baseUrl) {
      const client = opened().use(github({ baseUrl }));
      return { client, source: () => client.github.issues({ owner: 'a', repo: 'b', pageSize: 12 }) };
    },
  },
  'linear.issues': {
    start: () => {
      const rows = made((at) => ({ id: `i${at}`, identifier: `ENG-${at}`, title: `Issue ${at}`, updatedAt: day(at) }));
      return startListing(linearAnswers(secrets.LINEAR_API_KEY), rows);
    },
    open(baseUrl) {
      const client = opened().use(linear({ baseUrl }));
      return { client, source: () => client.linear.issues({ team: 'ENG', pageSize: 12 }) };
    },
  },
  'strava.activities': {
    start: () =>
      startListing(
        stravaAnswers(account),
        made((id) => ({ id, name: `Ride ${id}`, distance: id * 10 })),
      ),
    areRowsStill: true,
    async open(baseUrl) {
      const client = opened().use(strava({ baseUrl, tokenFile }));
      // The suite does not count this request, with which it gets its token.
      await client.strava.get('/api/v3/athlete');
      return { client, source: () => client.strava.activities({ pageSize: 12 }) };
    },
  },
  'gitlab.issues': {
    start: () => startListing(gitlabAnswers(secrets.GITLAB_TOKEN), made(issueOf)),
    open(baseUrl) {
      const client = opened().use(gitlab({ baseUrl }));
      return { client, source: () => client.gitlab.issues({ project: 'a/b', pageSize: 12 }) };
    },
  },
  'mailchimp.members': {
    start: () =>
      startListing(
        mailchimpAnswers(secrets.MAILCHIMP_API_KEY),
        made((nth) => memberOf(`a${nth % 3}`, nth)),
      ),
    open(baseUrl) {
      const client = opened().use(mailchimp({ baseUrl }));
      return { client, source: () => client.mailchimp.members({ pageSize: 4 }) };
    },
  },
};

for (const [name, { start, open, useUpQuota, areRowsStill = false }] of Object.entries(cases))
  describe(name, () => {
    testSource({
      test,
      factory: async () => {
        const server = await start();
        const { client, source } = await open(new URL(server.baseUrl).origin);
        const before = server.sent.length;
        return {
          source,
          requests: () => {
            const sent = server.sent.slice(before);
            return { made: sent.length, open: server.counts.open, sent };
          },
          answer: (how) => (server.answer = how),
          ...(useUpQuota && { useUpQuota }),
          areRowsStill,
          dispose: async () => {
            await client.close();
            await server.close();
          },
        };
      },
    });
  });

/** An API on a client of its own, with retries and a rate as anybody has them. */
async function serving<Row>(answering: Answering<Row>, rows: Row[]) {
  const server = await startListing(answering, rows);
  const client = createClient({ apiKey: 'key-of-other-apis', variables: secrets });
  const close = async () => {
    await client.close();
    await server.close();
  };
  return { server, client, baseUrl: new URL(server.baseUrl).origin, [Symbol.asyncDispose]: close };
}

test('GitHub refuses at most one request, although its quota is used up on the way', async () => {
  const rows = made((number) => ({ number, title: 'It breaks', state: 'open' }));
  const answering = githubAnswers(secrets.GITHUB_TOKEN, new GithubQuota({ requests: 4, per: 1 }));
  const refused: number[] = [];
  const counting: Answering<unknown> = (...request) => {
    const answer = answering(...request);
    if (answer.status !== undefined) refused.push(answer.status);
    return answer;
  };
  await using api = await serving(counting, rows);
  const { github: open } = api.client.use(github({ baseUrl: api.baseUrl }));
  assert.deepEqual(await open.issues({ owner: 'a', repo: 'b', pageSize: 5 }).toArray(), rows);
  assert.ok(refused.length <= 1, `${refused.length} refusals`);
});

test("GitHub's secondary limit pauses all requests for as long as GitHub asks, or else for a minute", async () => {
  const rows = made((number) => ({ number, title: 'It breaks', state: 'open' }));
  await using api = await serving(githubAnswers(secrets.GITHUB_TOKEN), rows);
  const { github: open } = api.client.use(github({ baseUrl: api.baseUrl }));
  const limited = { status: 403, body: { message: 'You have exceeded a secondary rate limit. Please wait a bit.' } };
  let refusals = 1;
  api.server.instead = () => (--refusals >= 0 ? { ...limited, headers: { 'retry-after': '1' } } : undefined);
  const pauses: number[] = [];
  const paused = new Promise<void>((resolve) => {
    api.client.events.subscribe((event) => {
      if (event.type !== 'paused') return;
      pauses.push(event.for);
      if (pauses.length === 2) resolve();
    });
  });
  assert.deepEqual(await open.issues({ owner: 'a', repo: 'b' }).toArray(), rows);
  api.server.instead = () => limited;
  const ended = assert.rejects(open.issues({ owner: 'a', repo: 'b' }).toArray(), /closed/);
  await paused;
  await api.client.close();
  await ended;
  assert.deepEqual(pauses, [1_000, 60_000]);
});

test('errors that Linear sends with status 200 are errors', async () => {
  await using api = await serving(linearAnswers(secrets.LINEAR_API_KEY), []);
  const { linear: open } = api.client.use(linear({ baseUrl: api.baseUrl }));
  await assert.rejects(open.issues({ team: 'NONE' }).toArray(), /INVALID_INPUT/);
});

test("Strava's refresh token is replaced in its file, and the next process starts with the new one", async () => {
  const { account: other, tokenFile: file } = stravaAccount();
  for (const round of [1, 2, 3]) {
    const rides = made((id) => ({ id, name: `Ride ${id}`, distance: id }));
    await using api = await serving(stravaAnswers(other), rides);
    const { strava: open } = api.client.use(strava({ baseUrl: api.baseUrl, tokenFile: file }));
    assert.equal((await open.activities({ pageSize: 10 }).toArray()).length, 25);
    assert.equal(other.issued.length, round);
    assert.equal(readFileSync(file, 'utf8'), other.refreshToken);
  }
});

test('increments of GitLab, merged by key, equal the table each time, also with rows that are seen late', async () => {
  await using api = await serving(gitlabAnswers(secrets.GITLAB_TOKEN), made(issueOf));
  const { gitlab: open } = api.client.use(gitlab({ baseUrl: api.baseUrl }));
  const { rows } = api.server;
  const state = fileState(join(folder, 'issues.state'));
  const kept = new Map<number, unknown>();
  const run = async (round: number): Promise<number> => {
    const path = join(folder, `${round}.jsonl`);
    const source = open.issues({ project: 'a/b', pageSize: 10 });
    const report = await exportTo(source, jsonl({ path }), { state, incremental: true }).run();
    for (const line of readFileSync(path, 'utf8').split('\n').slice(0, -1)) {
      const row = z.looseObject({ iid: z.number() }).parse(JSON.parse(line));
      kept.set(row.iid, row);
    }
    assert.deepEqual(
      [...kept.values()],
      rows.toSorted((a, b) => a.iid - b.iid),
    );
    return report.rows;
  };
  assert.equal(await run(0), 25);
  assert.equal(await run(1), 0);
  const now = Date.now();
  rows[3] = { ...issueOf(4), state: 'closed', updated_at: new Date(now).toISOString() };
  assert.equal(await run(2), 1);
  // It was written before the last one, in a transaction that has ended only now.
  rows.push({ ...issueOf(26), updated_at: new Date(now - 20_000).toISOString() });
  assert.equal(await run(3), 1);
  assert.equal(await run(4), 0);
});

test('increments of all repositories on GitHub continue each one from its own mark', async () => {
  const issues = made((number) => ({
    repo: number % 2 === 0 ? 'acme/web' : 'acme/api',
    number,
    title: `Issue ${number}`,
    updated_at: day(number),
  }));
  const repos = ['acme/web', 'acme/api'];
  await using api = await serving<(typeof issues)[number]>((url, rows) => {
    const since = url.searchParams.get('since') ?? '';
    const [, repo] = /^\/repos\/(.+)\/issues$/.exec(url.pathname) ?? [];
    if (repo === undefined) return { body: repos.map((full_name) => ({ full_name })) };
    const listed = rows.filter((row) => row.repo === repo && row.updated_at >= since);
    return { body: listed.slice(0, Number(url.searchParams.get('per_page'))) };
  }, issues);
  const { github: open } = api.client.use(githubRepos({ baseUrl: api.baseUrl }));
  const state = fileState(join(folder, 'repos.state'));
  const run = async (round: number): Promise<number> => {
    const sink = jsonl({ path: join(folder, `repos-${round}.jsonl`) });
    const source = open.issues({ org: 'acme', pageSize: 10 });
    return (await exportTo(source, sink, { state, incremental: true }).run()).rows;
  };
  assert.equal(await run(0), 25);
  const before = api.server.requests.length;
  assert.equal(await run(1), 0);
  const marks = api.server.requests.slice(before).flatMap(({ searchParams }) => searchParams.get('since') ?? []);
  // A minute before the last row of each repository: what a slow transaction wrote in it appears only later.
  assert.deepEqual(
    marks.map((mark) => Date.parse(mark) + 60_000),
    [day(24), day(25)].map((last) => Date.parse(last)),
  );
  repos.push('acme/new');
  issues.push({ repo: 'acme/new', number: 1, title: 'The first', updated_at: day(1) });
  assert.equal(await run(2), 1);
});

test("an audience of Mailchimp's that is gone is skipped, and the export resumes behind the audiences it knows", async () => {
  const rows = made((nth) => memberOf(`a${nth % 4}`, nth));
  await using api = await serving(mailchimpAnswers(secrets.MAILCHIMP_API_KEY, ['gone']), rows);
  const { mailchimp: open } = api.client.use(mailchimp({ baseUrl: api.baseUrl }));
  const warnings: string[] = [];
  api.client.events.subscribe((event) => event.type === 'warning' && warnings.push(event.message));
  const path = join(folder, 'members.jsonl');
  const run = (signal?: AbortSignal) => {
    const state = fileState(join(folder, 'members.state'));
    const members = exportTo(open.members({ pageSize: 4 }), jsonl({ path }), { state, commitEvery: 1, concurrency: 4 });
    return members.run(signal ? { signal, onProgress: ({ pages }) => pages > 2 && stop.abort() } : {});
  };
  const stop = new AbortController();
  await assert.rejects(run(stop.signal));
  await run();
  const lines = readFileSync(path, 'utf8').split('\n').slice(0, -1);
  const expected = ['a1', 'a2', 'a3', 'a0'].flatMap((audience) => rows.filter((row) => row.audience === audience));
  assert.deepEqual(
    lines.map((line): unknown => JSON.parse(line)),
    expected,
  );
  assert.match(warnings.join(), /gone/);
  const asked = api.server.requests.filter(({ pathname }) => pathname === '/3.0/lists').map(({ search }) => search);
  assert.equal(new Set(asked).size, asked.length);
});

test('four APIs on one client: each server sees its own credentials only', async () => {
  const seen: Record<string, string> = {};
  const recording =
    <Row>(name: string, answering: Answering<Row>): Answering<Row> =>
    (...[url, rows, received]) => {
      seen[name] = `${seen[name] ?? ''}${url.href} ${JSON.stringify(received)}`;
      return answering(url, rows, received);
    };
  const { account: other, tokenFile: file } = stravaAccount();
  await using first = await serving(recording('github', githubAnswers(secrets.GITHUB_TOKEN)), []);
  await using second = await serving(recording('linear', linearAnswers(secrets.LINEAR_API_KEY)), []);
  await using third = await serving(recording('gitlab', gitlabAnswers(secrets.GITLAB_TOKEN)), []);
  await using fourth = await serving(recording('strava', stravaAnswers(other)), []);
  const { client } = first;
  const all = client
    .use(github({ baseUrl: first.baseUrl }))
    .use(linear({ baseUrl: second.baseUrl }))
    .use(gitlab({ baseUrl: third.baseUrl }))
    .use(strava({ baseUrl: fourth.baseUrl, tokenFile: file }));
  await all.github.issues({ owner: 'a', repo: 'b' }).toArray();
  await all.linear.issues({ team: 'ENG' }).toArray();
  await all.gitlab.issues({ project: 'a/b' }).toArray();
  await all.strava.activities().toArray();
  const own: Record<string, readonly string[]> = {
    github: [secrets.GITHUB_TOKEN],
    linear: [secrets.LINEAR_API_KEY],
    gitlab: [secrets.GITLAB_TOKEN],
    strava: [secrets.STRAVA_CLIENT_SECRET, 'refresh-token-0', 'access-token-0'],
  };
  for (const [name, text] of Object.entries(seen)) {
    assert.ok(!text.includes('key-of-other-apis'), name);
    for (const [owner, credentials] of Object.entries(own))
      for (const credential of credentials)
        assert.equal(text.includes(credential), owner === name, `${credential} at ${name}`);
  }
});
