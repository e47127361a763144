import { createServer } from 'node:http';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { freePort } from '../../../test/kit/freePort.js';
import { main } from '../src/program.js';
import { testEnvironment, type TestEnvironment } from './testEnvironment.js';

const variables = { SLUICE_API_KEY: 'canary-5f1d77a1e0' };

/** A server of one stream that is not there yet. */
async function awayServer(): Promise<{ readonly url: string; come(): Promise<void> }> {
  const port = await freePort();
  return {
    url: `http://127.0.0.1:${String(port)}`,
    async come() {
      const server = createServer((_request, response) => {
        response.setHeader('content-type', 'application/json');
        response.end(JSON.stringify({ result: [{ id: 'a', status: 'active' }], cursor: null, total: 1 }));
      });
      await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
      onTestFinished(() => {
        server.close();
        server.closeAllConnections();
      });
    },
  };
}

const says = (environment: TestEnvironment, text: string): Promise<void> =>
  vi.waitFor(
    () => {
      expect(environment.written.stderr()).toContain(text);
    },
    { timeout: 60_000 },
  );

describe('T9 an API that refuses connections', () => {
  test('is waited for, which is said once and calmly, and so is that it is back', { timeout: 120_000 }, async () => {
    const server = await awayServer();
    const environment = testEnvironment({ variables });
    const args = ['streams', 'export', '--no-config', '--streams-url', server.url, '--to', '-', '--format', 'jsonl'];
    const outcome = main([...args, '--progress', 'plain', '--rate', 'unlimited'], environment);
    await says(environment, 'Waiting for up to ');
    await server.come();
    expect(await outcome).toBe(0);
    expect(environment.written.stdout()).toContain('"id":"a"');
    const shown = environment.written.stderr();
    expect(shown).toMatch(
      /Waiting for up to (5\d s|1 min 0 s) more \(--retry-for\): streams\.list: 127\.0\.0\.1:\d+ did not respond: .*ECONNREFUSED/,
    );
    expect(shown.match(/Waiting/g)).toHaveLength(1);
    expect(shown).toContain('The outage is over: the service responds again.');
  });

  test('ends the command when --retry-for is over, which says how to wait longer', { timeout: 120_000 }, async () => {
    const server = await awayServer();
    const environment = testEnvironment({ variables });
    const args = ['streams', 'list', '--no-config', '--streams-url', server.url, '--retry-for', '300ms'];
    expect(await main(args, environment)).toBe(1);
    expect(environment.written.stderr()).toMatch(
      /It was tried \d+ times within 300 ms\. Raise --retry-for to retry for longer\./,
    );
  });

  test('ends a watch only where --retry-for says so', { timeout: 120_000 }, async () => {
    const server = await awayServer();
    const args = ['streams', 'watch', '--no-config', '--streams-url', server.url, '--every', '50ms'];
    const patient = testEnvironment({ variables });
    const outcome = main([...args, '--timeout', '1s'], patient);
    await says(patient, 'Waiting for up to ');
    await server.come();
    await says(patient, 'Watching 1 stream');
    patient.interrupt(new Error('enough'));
    expect(await outcome).not.toBe(0);
    const away = await awayServer();
    const hurried = testEnvironment({ variables });
    expect(
      await main(['streams', 'watch', '--no-config', '--streams-url', away.url, '--retry-for', '0s'], hurried),
    ).toBe(1);
    expect(hurried.written.stderr()).toContain('ECONNREFUSED');
  });
});

test.each(['soon', '2', '-1s'])('--retry-for %s is wrong usage', async (value) => {
  const environment = testEnvironment({ variables });
  expect(await main(['streams', 'list', '--no-config', '--retry-for', value], environment)).toBe(2);
  expect(environment.written.stderr()).toContain('--retry-for');
});
