import { readFile } from 'node:fs/promises';
import { request, type IncomingMessage } from 'node:http';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { createClient } from '@sluice/core';
import { startSandbox } from '@sluice/sandbox';
import { streams } from '@sluice/streams';
import { describe, expect, onTestFinished, test } from 'vitest';
import { guarded, startGuardedApi } from '../../../test/kit/guardedApi.js';
import { isLocal } from '../src/dashboardServer.js';
import { dashboard, openDashboard } from '../src/index.js';
import { decodeSnapshot } from '../src/page/decodeSnapshot.js';
import type { Snapshot } from '../src/snapshot.js';

interface Asked {
  readonly path?: string;
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Node's fetch sends no `Host` of somebody else. */
function ask(url: string, { path = '/', method = 'GET', headers = {} }: Asked): Promise<IncomingMessage> {
  const { port } = new URL(url);
  return new Promise((resolve, reject) => {
    request({ host: '127.0.0.1', port, path, method, headers }, resolve).on('error', reject).end();
  });
}

async function textOf(answer: IncomingMessage): Promise<string> {
  const parts: Buffer[] = [];
  for await (const part of answer) parts.push(part as Buffer);
  return Buffer.concat(parts).toString();
}

function opened() {
  const page = openDashboard({ title: 'A test' });
  onTestFinished(() => page.close());
  return page;
}

const tokenOf = (url: string): string => new URL(url).hash.slice(1);

function snapshotsIn(text: string): Snapshot[] {
  return text
    .trim()
    .split('\n')
    .flatMap((line) => decodeSnapshot(line) ?? []);
}

describe('U3 the server of the page', () => {
  test('U3 listens on 127.0.0.1, and its address has the token in the fragment only', async () => {
    const url = await opened().url;
    expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/#[\w-]{32}$/);
  });

  test.each<[number, Asked]>([
    [200, { path: '/' }],
    [200, { path: '/', headers: { Host: 'localhost:9999' } }],
    [200, { path: '/', headers: { Host: '[::1]:1' } }],
    [421, { path: '/', headers: { Host: 'evil.example' } }],
    [421, { path: '/', headers: { Host: '127.0.0.1.evil.example' } }],
    [421, { path: '/snapshots', headers: { Host: 'localhost.evil.example:80' } }],
    [405, { path: '/', method: 'POST' }],
    [405, { path: '/snapshots', method: 'OPTIONS' }],
    [404, { path: '/../package.json' }],
    [404, { path: '/%2e%2e/index.js' }],
    [401, { path: '/snapshots' }],
    [401, { path: '/snapshots?token=TOKEN' }],
    [401, { path: '/snapshots', headers: { Authorization: 'Bearer wrong' } }],
    [401, { path: '/snapshots', headers: { Cookie: 'token=TOKEN' } }],
  ])('U3 answers %i to %j', async (status, asked) => {
    const url = await opened().url;
    const filled = JSON.parse(JSON.stringify(asked).replaceAll('TOKEN', tokenOf(url))) as Asked;
    const answer = await ask(url, filled);
    const { headers } = answer;
    expect(answer.statusCode).toBe(status);
    expect(headers['content-security-policy']).not.toContain('unsafe');
    expect(headers).not.toHaveProperty('access-control-allow-origin');
    expect(headers).not.toHaveProperty('set-cookie');
    expect(await textOf(answer)).not.toContain(tokenOf(url));
  });

  test.each<[string | undefined, boolean]>([
    ['localhost', true],
    ['LOCALHOST:80', true],
    ['127.0.0.1:8080', true],
    ['127.1.2.3', true],
    ['[::1]:8080', true],
    ['localhost.', false],
    ['127.0.0.1.nip.io', false],
    ['0.0.0.0', false],
    ['', false],
    [undefined, false],
  ])('U3 takes the host %s for this machine: %s', (host, isThis) => {
    expect(isLocal(host)).toBe(isThis);
  });

  test('U3 a port that is in use is an error that names it', async () => {
    const { port } = new URL(await opened().url);
    const second = openDashboard({ port: Number(port) });
    onTestFinished(() => second.close());
    await expect(second.url).rejects.toMatchObject({ code: 'config', message: expect.stringContaining(port) });
    expect(() => openDashboard({ port: 65_536 })).toThrow('65535');
    for (const token of ['', 'short', `${'a'.repeat(20)}#`, `${'a'.repeat(20)} b`])
      expect(() => openDashboard({ token })).toThrow('16 or more letters');
  });
});

describe('U2 the stream of snapshots', () => {
  test('U2 begins with the whole state and ends with a last one, which says how the run ended', async () => {
    const page = openDashboard({ title: 'A test' });
    const url = await page.url;
    const authorization = { Authorization: `Bearer ${tokenOf(url)}` };
    const answer = await ask(url, { path: '/snapshots?span=60', headers: authorization });
    expect(answer.statusCode).toBe(200);
    const text = textOf(answer);
    page.end({ outcome: 'failed', message: 'It broke.' });
    await page.close();
    const all = snapshotsIn(await text);
    expect(all[0]?.about.title).toBe('A test');
    expect(all.at(-1)).toMatchObject({ end: { outcome: 'failed', message: 'It broke.' } });
    await expect(ask(url, {})).rejects.toMatchObject({ code: 'ECONNREFUSED' });
  });

  test('U2 somebody who reads nothing does not keep the server from closing', async () => {
    const page = openDashboard();
    const url = await page.url;
    const answer = await ask(url, { path: '/snapshots', headers: { Authorization: `Bearer ${tokenOf(url)}` } });
    answer.pause();
    await page.close();
    await expect(ask(url, {})).rejects.toMatchObject({ code: 'ECONNREFUSED' });
    answer.destroy();
  });

  test('U1 tells what a client does, by its events alone', async () => {
    await using sandbox = await startSandbox({ streams: 30 });
    const client = createClient({ apiKey: sandbox.apiKey, rateLimit: false })
      .use(dashboard({ title: 'A program' }))
      .use(streams({ baseUrl: sandbox.streamsUrl }));
    const url = await client.dashboard.url;
    const answer = await ask(url, { path: '/snapshots', headers: { Authorization: `Bearer ${tokenOf(url)}` } });
    const text = textOf(answer);
    await client.streams.list({ pageSize: 10 }).toArray();
    for await (const page of client.streams.list.watch({}, { every: 10, polls: 2 }).pages()) void page;
    await client.close();
    const received = await text;
    const last = snapshotsIn(received).at(-1);
    expect(last).toMatchObject({ end: { outcome: 'stopped' }, about: { title: 'A program' }, board: { total: 30 } });
    // The list of three pages, and three walks of one page.
    expect(last?.totals).toMatchObject({ rows: 120, pages: 6, requests: 6, retries: 0, changes: 0 });
    expect(received).not.toContain(sandbox.apiKey);
  });

  test('R8 has no secret of an API with several, whose server repeats them', async () => {
    const { baseUrl, secrets } = await startGuardedApi();
    const client = createClient({ apiKey: false, retry: { baseDelay: 1 } })
      .use(dashboard())
      .use(guarded({ baseUrl }));
    const url = await client.dashboard.url;
    const answer = await ask(url, { path: '/snapshots', headers: { Authorization: `Bearer ${tokenOf(url)}` } });
    const text = textOf(answer);
    expect(await client.guarded.rows().toArray()).toHaveLength(3);
    await expect(client.guarded.get('/refused')).rejects.toMatchObject({ status: 400 });
    await client.close();
    const received = await text;
    expect(snapshotsIn(received).at(-1)?.totals).toMatchObject({ pages: 3, retries: 1 });
    expect(secrets().length).toBeGreaterThan(10);
    for (const secret of secrets()) expect(received).not.toContain(secret);
  });
});

test('U1 the page, its script and its styles have less than 50 kB together, compressed', async () => {
  const folder = join(import.meta.dirname, '../dist/page');
  const sizes = await Promise.all(
    ['index.html', 'page.js', 'page.css', 'icon.svg'].map(
      async (name) => gzipSync(await readFile(join(folder, name))).length,
    ),
  );
  expect(sizes.reduce((sum, size) => sum + size)).toBeLessThan(50_000);
});
