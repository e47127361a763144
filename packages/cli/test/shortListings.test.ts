import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { onTestEnd } from '../../../scripts/testScope.js';
import { temporaryFolder } from '../../../test/kit/temporaryFolder.js';
import { sluice } from './runSluice.js';

/** An API of streams that lists ten and says that there are 25. */
async function cappedStreams(): Promise<Readonly<Record<string, string>>> {
  const server = createServer((_, response) => {
    const result = Array.from({ length: 10 }, (__, id) => ({ id: String(id), status: 'active' }));
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify({ result, total: 25, cursor: null }));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestEnd(() => void server.close());
  const { port } = server.address() as AddressInfo;
  return { SLUICE_API_KEY: 'key-of-the-test', SLUICE_STREAMS_URL: `http://127.0.0.1:${port}` };
}

const said = 'streams.list: the API listed 10 rows and says that there are 25, so 15 may be missing.';

describe('P10 an export that lists fewer rows than the API counts', () => {
  test.each(['plain', 'bar', 'none'])('says so with --progress %s, and again when it is repeated', async (progress) => {
    const [env, folder] = [await cappedStreams(), temporaryFolder()];
    const args = ['streams', 'export', '--to', join(folder, 'x.csv'), '--progress', progress];
    const first = await sluice(args, { env });
    expect(first.code).toBe(0);
    expect(first.stderr).toContain(said);
    expect(first.stderr).toMatch(/10 rows in 1 page -> .*10 rows of 25 listed\)/);
    expect((await sluice(args, { env })).stderr).toContain('is complete (10 rows, 10 rows of 25 listed, exported');
  });

  test('says so to stdout, and under --quiet', async () => {
    const env = await cappedStreams();
    const shown = await sluice(['streams', 'export', '--to', '-', '--progress', 'plain'], { env });
    expect(shown.stderr).toContain(said);
    const quiet = await sluice(['streams', 'export', '--to', '-', '--quiet'], { env });
    expect(quiet.stderr).toBe("sluice: stdout is short of the API's total: 10 rows of 25 listed.\n");
  });

  test('has both numbers in JSON', async () => {
    const [env, folder] = [await cappedStreams(), temporaryFolder()];
    const { stderr } = await sluice(['streams', 'export', '--to', join(folder, 'x.csv'), '--progress', 'json'], {
      env,
    });
    const events = stderr
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Record<string, unknown>);
    expect(events.find(({ event }) => event === 'warning')?.['message']).toContain(said);
    expect(events.at(-1)).toMatchObject({ event: 'report', rows: 10, shortOfTotal: { total: 25, listed: 10 } });
  });

  test('fails with --require-total before the file gets its name, and goes with neither --max-rows nor --incremental', async () => {
    const [env, folder] = [await cappedStreams(), temporaryFolder()];
    const args = ['streams', 'export', '--to', join(folder, 'x.csv'), '--require-total'];
    const { code, stderr } = await sluice(args, { env });
    expect([code, await readdir(folder)]).toEqual([1, expect.not.arrayContaining(['x.csv'])]);
    expect(stderr).toContain(said);
    const bounded = await sluice([...args, '--max-rows', '5'], { env });
    expect(bounded.stderr).toContain("--require-total can't be met: streams.list is exported up to maxRows");
  });
});
