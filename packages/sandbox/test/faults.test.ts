import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { describe, expect, test } from 'vitest';
import { startSandbox, type Fault, type Sandbox, type SandboxOptions } from '../src/index.js';
import { addressOf, ask, askPage, rowsOf, texts, walk } from './ask.js';

/** A sandbox whose n-th requests meet the given faults. */
function faulty(faults: Readonly<Record<number, Fault>>, options: SandboxOptions = {}): Promise<Sandbox> {
  return startSandbox({ ...options, script: ({ n }) => faults[n] });
}

describe('a client sees', () => {
  test('a status, with its headers and its body', async () => {
    await using sandbox = await faulty({
      1: { kind: 'status', status: 503, headers: { 'retry-after': '7' } },
      2: { kind: 'status', status: 418, headers: { 'content-type': 'text/plain' }, body: 'short and stout' },
    });
    const one = await ask(sandbox, 'aptos');
    expect([one.status, one.headers.get('retry-after')]).toEqual([503, '7']);
    expect(await one.json()).toEqual({ message: 'A fault with status 503' });
    const other = await ask(sandbox, 'aptos');
    expect([other.status, other.headers.get('content-type'), await other.text()]).toEqual([
      418,
      'text/plain',
      'short and stout',
    ]);
    expect((await ask(sandbox, 'aptos')).status).toBe(200);
    expect(sandbox.counts).toMatchObject({ rateLimited: 0, aborted: 0 });
  });

  test('a reset instead of an answer', async () => {
    await using sandbox = await faulty({ 1: { kind: 'reset' } });
    const request = get(addressOf(sandbox, 'aptos'), { agent: false });
    const [error]: unknown[] = await once(request, 'error').catch((reason: unknown) => [reason]);
    expect(error).toMatchObject({ code: 'ECONNRESET' });
    await sandbox.until(() => sandbox.counts.open === 0);
    expect(sandbox.requests[0]).toMatchObject({ fault: 'reset', status: undefined, aborted: false });
  });

  test('half a body, and then the end of the connection', { tags: ['slow'] }, async () => {
    await using sandbox = await faulty({ 2: { kind: 'cut-body' } });
    const whole = await (await ask(sandbox, 'aptos')).text();
    const answer = await raw(sandbox);
    const parts: Buffer[] = [];
    answer.on('data', (part: Buffer) => parts.push(part));
    await expect(once(answer, 'end')).rejects.toThrow('aborted');
    expect(answer.headers['content-length']).toBe(String(Buffer.byteLength(whole)));
    expect(Buffer.concat(parts)).toEqual(Buffer.from(whole).subarray(0, Buffer.byteLength(whole) / 2));
    expect(sandbox.requests[1]).toMatchObject({ fault: 'cut-body', status: 200, aborted: false });
  });

  test('a complete answer that is not JSON', async () => {
    await using sandbox = await faulty({
      1: { kind: 'wrong-json' },
      2: { kind: 'html' },
      3: { kind: 'html', status: 502 },
    });
    const wrong = await ask(sandbox, 'aptos');
    expect([wrong.status, wrong.headers.get('content-type')]).toEqual([200, 'application/json; charset=utf-8']);
    await expect(wrong.json()).rejects.toThrow(SyntaxError);
    const page = await ask(sandbox, 'aptos');
    expect([page.status, page.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8']);
    expect(await page.text()).toMatch(/^<!doctype html>/);
    expect((await ask(sandbox, 'aptos')).status).toBe(502);
  });

  test('a redirect to wherever it was told', async () => {
    await using sandbox = await faulty({
      1: { kind: 'redirect', location: 'https://elsewhere.example/' },
      2: { kind: 'redirect', location: '/elsewhere', status: 307 },
    });
    const answers = [await ask(sandbox, 'aptos'), await ask(sandbox, 'aptos')];
    expect(answers.map((answer) => [answer.status, answer.headers.get('location')])).toEqual([
      [302, 'https://elsewhere.example/'],
      [307, '/elsewhere'],
    ]);
  });

  test('the right body, drop by drop', async () => {
    await using sandbox = await faulty({ 2: { kind: 'slow-drip', every: 1 } }, { holdings: 0 });
    const whole = await (await ask(sandbox, 'aptos')).text();
    const answer = await raw(sandbox);
    const parts: Buffer[] = [];
    answer.on('data', (part: Buffer) => parts.push(part));
    await once(answer, 'data');
    expect(sandbox.counts.open).toBe(1);
    await once(answer, 'end');
    expect(Buffer.concat(parts).toString()).toBe(whole);
    expect(parts.length).toBeGreaterThan(1);
  });

  test('no answer at all', async () => {
    await using sandbox = await faulty({ 1: { kind: 'never' } });
    const leaving = new AbortController();
    const request = expect(ask(sandbox, 'aptos', {}, { signal: leaving.signal })).rejects.toThrow();
    expect((await ask(sandbox, 'aptos')).status).toBe(200);
    leaving.abort();
    await request;
    await sandbox.until(() => sandbox.counts.aborted === 1);
  });

  test('a delayed answer that holds up no other', async () => {
    await using sandbox = await faulty({ 1: { kind: 'delay', ms: 20 }, 2: { kind: 'delay', ms: 600_000 } });
    expect((await askPage(sandbox, 'aptos')).rows).toHaveLength(100);
    const late = expect(ask(sandbox, 'aptos')).rejects.toThrow();
    await sandbox.until(() => sandbox.counts.requests === 2);
    expect((await ask(sandbox, 'aptos')).status).toBe(200);
    expect(sandbox.requests[1]).toMatchObject({ status: undefined, took: undefined });
    await sandbox.close();
    await late;
  });

  test('a huge body of legal JSON, plain or as a gzip bomb', { tags: ['slow'] }, async () => {
    const bytes = 3_000_000;
    await using sandbox = await faulty({
      1: { kind: 'huge-body', bytes },
      2: { kind: 'huge-body', bytes, gzip: true },
      3: { kind: 'huge-body', bytes, gzip: true },
    });
    const plain = await ask(sandbox, 'aptos');
    expect([plain.headers.get('content-length'), plain.headers.get('content-encoding')]).toEqual([null, null]);
    expect(await plain.json()).toMatchObject({ padding: 'x'.repeat(bytes) });
    expect(await (await ask(sandbox, 'aptos')).json()).toMatchObject({ padding: 'x'.repeat(bytes) });
    const packed = await raw(sandbox);
    let travelled = 0;
    packed.on('data', (part: Buffer) => (travelled += part.length));
    await once(packed, 'end');
    expect(travelled).toBeLessThan(bytes / 100);
  });

  test('its own key, raw, URL-encoded and in base64', async () => {
    const apiKey = 'key with / and "quotes"';
    await using sandbox = await faulty({ 1: { kind: 'echo-key' } }, { apiKey });
    const answer = await ask(sandbox, 'aptos');
    const body: unknown = await answer.json();
    expect(answer.status).toBe(403);
    expect(body).toMatchObject({ key: apiKey });
    for (const spelling of [apiKey, encodeURIComponent(apiKey), Buffer.from(apiKey).toString('base64')]) {
      expect(body).toMatchObject({ message: expect.stringContaining(spelling) });
    }
  });
});

describe('paging faults', () => {
  test('repeat-cursor gives the right rows with the cursor that led to them', async () => {
    await using sandbox = await faulty({ 2: { kind: 'repeat-cursor' }, 3: { kind: 'repeat-cursor' } });
    const { cursor = '' } = await askPage(sandbox, 'aptos');
    const repeated = [await askPage(sandbox, 'aptos', { cursor }), await askPage(sandbox, 'aptos', { cursor })];
    const healthy = await askPage(sandbox, 'aptos', { cursor });
    for (const page of repeated) expect(page).toMatchObject({ rows: healthy.rows, cursor, hasNextPage: true });
    expect(healthy.cursor).not.toBe(cursor);
  });

  test('lead-back gives the right rows with a cursor of an earlier page, as it was or never seen', async () => {
    for (const minted of [false, true]) {
      await using sandbox = await faulty({ 3: { kind: 'lead-back', rows: 100, minted } }, { holdings: 500 });
      const first = await askPage(sandbox, 'aptos');
      const second = await askPage(sandbox, 'aptos', { cursor: first.cursor ?? '' });
      const third = await askPage(sandbox, 'aptos', { cursor: second.cursor ?? '' });
      const again = await askPage(sandbox, 'aptos', { cursor: third.cursor ?? '' });
      expect(again.rows).toEqual(second.rows);
      expect(third.cursor === first.cursor).toBe(!minted);
    }
  });

  test('ignore-cursor gives page 1 again and again, each time with a cursor never seen', async () => {
    await using sandbox = await startSandbox({
      streams: 250,
      script: ({ endpoint, n }) => (endpoint === 'streams' && n > 2 ? { kind: 'ignore-cursor' } : undefined),
    });
    const first = await askPage(sandbox, 'streams');
    const cursors = new Set<string | undefined>([first.cursor]);
    let page = await askPage(sandbox, 'streams', { cursor: first.cursor ?? '' });
    cursors.add(page.cursor);
    for (let turn = 0; turn < 5; turn++) {
      page = await askPage(sandbox, 'streams', { cursor: page.cursor ?? '' });
      expect(page.rows).toEqual(first.rows);
      cursors.add(page.cursor);
    }
    expect(cursors.size).toBe(7);
    expect(cursors).not.toContain(undefined);
  });

  test('empty-page loses no row: its cursor goes on with those that were due', async () => {
    await using sandbox = await faulty({ 2: { kind: 'empty-page' }, 3: { kind: 'empty-page' } }, { holdings: 250 });
    const pages = await walk(sandbox, 'aptos');
    expect(pages.map(({ rows, hasNextPage }) => [rows.length, hasNextPage])).toEqual([
      [100, true],
      [0, true],
      [0, true],
      [100, true],
      [50, false],
    ]);
    expect(rowsOf(pages)).toEqual(texts(sandbox.holdingsOf(sandbox.owners)));
    expect(new Set(pages.map(({ cursor }) => cursor)).size).toBe(5);
  });

  test('moved-rows moves them in the middle of a walk', async () => {
    await using sandbox = await faulty({ 2: { kind: 'moved-rows', by: 2 } }, { holdings: 250, owners: 1 });
    const [first, second] = await walk(sandbox, 'aptos');
    expect(second?.rows.slice(0, 2)).toEqual(first?.rows.slice(-2));
  });
});

describe('a script', () => {
  test('sees each request with its counts, its query and its headers', async () => {
    const seen: unknown[] = [];
    await using sandbox = await startSandbox({
      script({ endpoint, n, nth, attempt, query, headers }) {
        seen.push([endpoint, n, nth, attempt, query.get('limit'), headers['x-api-key'] === sandbox.apiKey]);
        return undefined;
      },
    });
    await ask(sandbox, 'streams', { limit: 1 });
    await ask(sandbox, 'aptos', { limit: 2 });
    await ask(sandbox, 'aptos', { limit: 2 });
    await ask(sandbox, 'aptos', { limit: 3 }, { headers: {} });
    await ask(sandbox, 'aptos', { limit: 3 });
    expect(seen).toEqual([
      ['streams', 1, 1, 1, '1', true],
      ['aptos', 2, 1, 1, '2', true],
      ['aptos', 3, 2, 2, '2', true],
      ['aptos', 4, 3, 1, '3', false],
      ['aptos', 5, 4, 1, '3', true],
    ]);
  });

  test('wins over rates', async () => {
    await using sandbox = await startSandbox({ faults: { reset: 1 }, script: () => ({ kind: 'status', status: 501 }) });
    expect((await ask(sandbox, 'streams')).status).toBe(501);
  });

  test('that throws is told to the client', async () => {
    await using sandbox = await startSandbox({
      script() {
        throw new Error('a slip of the pen');
      },
    });
    const answer = await ask(sandbox, 'streams');
    expect(answer.status).toBe(500);
    expect(await answer.json()).toEqual({ message: 'The sandbox failed: Error: a slip of the pen' });
  });
});

describe('faults by rate', () => {
  test('depend on the seed and the request, not on order or time', { tags: ['slow'] }, async () => {
    const statuses = async (seed: number, limits: readonly number[]): Promise<ReadonlyMap<number, number>> => {
      await using sandbox = await startSandbox({ seed, faults: { serverError: 0.3, tooManyRequests: 0.1 } });
      const met = new Map<number, number>();
      for (const limit of limits) met.set(limit, (await ask(sandbox, 'streams', { limit })).status);
      return met;
    };
    const limits = Array.from({ length: 100 }, (_, at) => at + 1);
    const met = await statuses(1, limits);
    expect(await statuses(1, limits.toReversed())).toEqual(met);
    expect(await statuses(2, limits)).not.toEqual(met);
    const spoiled = [...met.values()].filter((status) => status !== 200);
    expect(spoiled.length).toBeGreaterThan(20);
    expect(spoiled.length).toBeLessThan(60);
    expect(new Set(spoiled)).toEqual(new Set([429, 500, 502, 503, 504]));
  });

  test('spoil one request three times in a row at most', async () => {
    await using sandbox = await startSandbox({ faults: { serverError: 1 } });
    const spoiled: boolean[] = [];
    for (let attempt = 1; attempt <= 9; attempt++) spoiled.push((await ask(sandbox, 'streams')).status >= 500);
    expect(spoiled).toEqual([true, true, true, false, true, true, true, false, true]);
  });

  test('leave refusals as they are', async () => {
    await using sandbox = await startSandbox({ faults: { serverError: 1 } });
    expect((await ask(sandbox, 'streams', { limit: 0 })).status).toBe(400);
    expect((await ask(sandbox, 'streams', {}, { headers: {} })).status).toBe(401);
  });

  test('of every name can be met', async () => {
    const kinds = {
      serverError: 'status',
      tooManyRequests: 'status',
      reset: 'reset',
      never: 'never',
      html: 'html',
      redirect: 'redirect',
      echoKey: 'echo-key',
      cutBody: 'cut-body',
      wrongJson: 'wrong-json',
      slowDrip: 'slow-drip',
      delay: 'delay',
      repeatCursor: 'repeat-cursor',
      ignoreCursor: 'ignore-cursor',
      emptyPage: 'empty-page',
      movedRows: 'moved-rows',
    };
    for (const [name, kind] of Object.entries(kinds)) {
      await using sandbox = await startSandbox({ faults: { [name]: 1 } });
      const answer = Promise.allSettled([ask(sandbox, 'streams')]);
      await sandbox.until(() => sandbox.counts.requests === 1);
      expect(sandbox.requests[0]?.fault).toBe(kind);
      await sandbox.close();
      await answer;
    }
  });

  test('that are unknown are refused by name', async () => {
    const faults: object = { typo: 0.1 };
    await expect(startSandbox({ faults })).rejects.toThrow("faults.typo can't have a rate: give one of serverError,");
  });
});

/** The answer as it travels: nothing unpacked, nothing retried. */
function raw(sandbox: Sandbox): Promise<IncomingMessage> {
  const headers = { 'X-API-Key': sandbox.apiKey };
  return new Promise((resolve, reject) => {
    get(addressOf(sandbox, 'aptos'), { agent: false, headers }, resolve).on('error', reject);
  });
}
