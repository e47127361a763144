import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, test } from 'vitest';
import { onTestEnd } from '../../../scripts/testScope.js';
import { temporaryFolder } from '../../../test/kit/temporaryFolder.js';
import { sluice } from './runSluice.js';

/** An API of streams whose first page leads to what the function says. */
async function streamsApi(second: { readonly status: number; readonly body: unknown }) {
  const server = createServer((request, response) => {
    const isFirst = !new URL(request.url ?? '/', 'http://127.0.0.1').searchParams.has('cursor');
    const { status, body } = isFirst ? { status: 200, body: page('a') } : second;
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestEnd(() => {
    server.closeAllConnections();
    server.close();
  });
  const SLUICE_STREAMS_URL = `http://127.0.0.1:${String((server.address() as AddressInfo).port)}`;
  return { SLUICE_STREAMS_URL, SLUICE_API_KEY: 'test-key-1' };
}

const page = (cursor: string) => ({ result: [{ id: '1' }], cursor, total: 2 });
const again = { status: 200, body: page('b') };
const expired = { status: 410, body: { message: 'gone' } };

function messagesOf(stderr: string, event: string): string {
  const events = stderr
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { event: string; message?: string });
  return events.flatMap((each) => (each.event === event ? [each.message ?? ''] : [])).join('\n');
}

test('a JSON event of a failure advises only flags that the command has', async () => {
  const env = await streamsApi(again);
  const cwd = temporaryFolder();
  const listed = await sluice(['streams', 'list', '--progress', 'json'], { env, cwd });
  expect(listed.code).toBe(1);
  expect(messagesOf(listed.stderr, 'failed')).toMatch(/has the same rows as the page before.*Try again later\.$/);
  const exported = await sluice(['streams', 'export', '--to', 'out.csv', '--progress', 'json'], { env, cwd });
  expect(messagesOf(exported.stderr, 'failed')).toContain('Try again later, or start over with --restart.');
});

test.each(['plain', 'json'])('a notice of a failed poll advises only flags that a watch has (%s)', async (progress) => {
  const env = await streamsApi(expired);
  const args = ['streams', 'watch', '--every', '1s', '--polls', '2', '--progress', progress];
  const { stderr } = await sluice(args, { env, cwd: temporaryFolder() });
  const notices = progress === 'json' ? messagesOf(stderr, 'poll') : stderr;
  expect(notices).toContain('the API refused the cursor of page 2 with 410');
  expect(notices).not.toContain('--on-expired');
});
