import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { canary, expectNoKey } from './canary.js';
import { runChild } from './runChild.js';
import { answer, begun, hangUp, never, reset, startServer, type Answer } from './scriptedServer.js';

const faults: readonly Answer[] = [
  answer(200, 'null'),
  answer(302, '', { location: `https://elsewhere.example/${encodeURIComponent(canary)}` }),
  answer(400, JSON.stringify({ key: canary })),
  answer(401, Buffer.from(`Basic ${canary}`).toString('base64')),
  answer(403, `<p>${encodeURIComponent(canary)}</p>`),
  // Longer than the child waits, which still keeps the pause before its next request.
  answer(429, canary, { 'retry-after': '1' }),
  answer(500, `${'x'.repeat(180)}${canary}`),
  answer(200, `<html>${canary}</html>`, { 'content-type': 'text/html', 'x-request': canary }),
  begun(`{"key":"${canary}`, {}, hangUp),
  reset,
  never,
  answer(200, Buffer.from(`\xff${canary}`, 'latin1')),
  answer(503, canary),
];

test(
  'T2 nothing that a process prints or writes holds the key, whatever it prints, and whatever it dies of',
  { tags: ['slow'] },
  async () => {
    const server = await startServer((response) => {
      const fault = faults[Number(response.req.url?.slice(1))];
      if (fault) fault(response);
    });
    const cwd = mkdtempSync(join(tmpdir(), 'sluice-key-'));
    onTestFinished(() => {
      rmSync(cwd, { recursive: true });
    });
    const outcome = await runChild(new URL('./children/printAll.js', import.meta.url), {
      args: [server.url, String(faults.length)],
      env: { SLUICE_API_KEY: canary, NODE_DEBUG: 'http,net,tls' },
      cwd,
    });
    expect(outcome).toMatchObject({ code: 1, signal: null });
    // It did print what it was about, the error that it died of at the end.
    for (const code of ['decode', 'http', 'network', 'rate-limited', 'timeout', 'unexpected-redirect']) {
      expect(outcome.stdout).toContain(`code: '${code}'`);
    }
    expect(outcome.stderr).toMatch(
      /HttpError: test\.route: the server responded with 503 \("\[hidden\]"\)[^]*Node\.js v/,
    );
    expect(server.requests.every((request) => request.headers['x-api-key'] === canary)).toBe(true);
    const files = readdirSync(cwd).map((name) => readFileSync(join(cwd, name), 'utf8'));
    expect(files).toHaveLength(1);
    for (const text of [outcome.stdout, outcome.stderr, ...files]) {
      expect(text.length).toBeGreaterThan(5_000);
      expectNoKey(text);
    }
  },
);
