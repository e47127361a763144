// @module-tag slow
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { exportTo, memoryState, type ExportReport, type Sink, type StateStore } from '@sluice/core';
import { startSandbox, type Sandbox } from '@sluice/sandbox';
import { describe, expect, test } from 'vitest';
import { csv } from '../src/csv.js';
import { jsonl } from '../src/jsonl.js';
import { sandboxClient } from './sandboxClient.js';
import { temporaryFolder } from '../../../test/kit/temporaryFolder.js';

const pageSize = 25;
const holdings = 1_000;
const pages = holdings / pageSize;

interface RunOptions {
  readonly state?: StateStore;
  readonly commitEvery?: number;
  readonly concurrency?: number;
  readonly prefetch?: number;
  readonly ownersPerRequest?: number;
}

async function run(sandbox: Sandbox, sink: Sink<object>, options: RunOptions = {}): Promise<ExportReport> {
  await using client = sandboxClient(sandbox);
  const { ownersPerRequest = 10, ...rest } = options;
  const source = client.aptos.nfts({ ownerAddresses: sandbox.owners, pageSize, ownersPerRequest });
  return await exportTo(source, sink, rest).run();
}

/** Each with a commit after another number of pages; one of them as by default. */
const formats = [
  ['CSV', 'holdings.csv', csv, 1],
  ['JSON Lines', 'holdings.jsonl', jsonl, 3],
  ['compressed CSV', 'holdings.csv.gz', csv, undefined],
  ['compressed JSON Lines', 'holdings.jsonl.gz', jsonl, 3],
] as const;

describe.each(formats)(
  'E1 a %s export whose API fails, run again with its state,',
  (_format, name, sinkTo, commitEvery) => {
    test('writes the bytes of an uninterrupted run', async () => {
      const options = commitEvery === undefined ? {} : { commitEvery };
      await using undisturbed = await startSandbox({ holdings });
      const whole = join(temporaryFolder(), name);
      await run(undisturbed, sinkTo({ path: whole }));

      const folder = temporaryFolder();
      const path = join(folder, name);
      const state = memoryState();
      // Before the first commit and between others, wherever those fall.
      await using sandbox = await startSandbox({
        holdings,
        script: ({ nth }) => ([7, 30, 36, 70].includes(nth) ? { kind: 'status', status: 500 } : undefined),
      });
      let failures = 0;
      let report: ExportReport | undefined;
      while (!report) {
        report = await run(sandbox, sinkTo({ path }), { ...options, state, prefetch: 0 }).catch((error: unknown) => {
          expect(error).toMatchObject({ code: 'http', status: 500 });
          expect(readdirSync(folder)).not.toContain(name);
          failures += 1;
          return undefined;
        });
      }
      expect(failures).toBeGreaterThanOrEqual(3);
      expect(readFileSync(path).equals(readFileSync(whole))).toBe(true);
      expect(readdirSync(folder)).toEqual([name]);
      expect(report).toMatchObject({ rows: holdings, pages, bytes: readFileSync(whole).length });
      expect(await state.load('checkpoint')).toMatchObject({ rows: holdings, finishedAt: expect.any(String) });
    });

    test('E4 does not fetch again what was committed', async () => {
      const path = join(temporaryFolder(), name);
      const state = memoryState();
      await using sandbox = await startSandbox({
        holdings,
        script: ({ nth }) => (nth === 26 ? { kind: 'status', status: 500 } : undefined),
      });
      const options = { state, commitEvery: 10, prefetch: 0 };
      await expect(run(sandbox, sinkTo({ path }), options)).rejects.toThrow(/500/);
      const report = await run(sandbox, sinkTo({ path }), options);
      expect(report.resumedRows).toBe(20 * pageSize);
      expect(sandbox.counts.requests).toBe(26 + pages - 20);
    });

    test('has every row once with a concurrency above 1', async () => {
      const path = join(temporaryFolder(), name);
      const state = memoryState();
      const owners = 12;
      await using sandbox = await startSandbox({
        holdings,
        owners,
        nasty: 0,
        latency: [0, 10],
        script: ({ nth }) => ([9, 30, 31].includes(nth) ? { kind: 'status', status: 500 } : undefined),
      });
      const options = { state, commitEvery: 3, concurrency: 4, ownersPerRequest: 1 };
      let report: ExportReport | undefined;
      while (!report)
        report = await run(sandbox, sinkTo({ path }), options).catch((error: unknown) => {
          expect(error).toMatchObject({ status: 500 });
          return undefined;
        });
      const ordered = join(temporaryFolder(), name);
      await run(sandbox, sinkTo({ path: ordered }), { ownersPerRequest: 1 });
      expect(report.rows).toBe(holdings);
      expect(linesOf(path)).toEqual(linesOf(ordered));
    });
  },
);

/** The lines of a file in the order of the alphabet. */
function linesOf(path: string): string[] {
  const bytes = readFileSync(path);
  return (path.endsWith('.gz') ? gunzipSync(bytes) : bytes).toString().split(/\r?\n/).sort();
}

describe('P8 an export of wallets without a group size', () => {
  async function runGroups(sandbox: Sandbox, path: string, options: RunOptions = {}): Promise<ExportReport> {
    // One that binds four requests at once, but not in the first minute.
    await using client = sandboxClient(sandbox, { rateLimit: { requests: 900, per: 60_000 } });
    const { ownersPerRequest, ...rest } = options;
    const source = client.aptos.nfts({ ownerAddresses: sandbox.owners, ...(ownersPerRequest && { ownersPerRequest }) });
    return await exportTo(source, jsonl({ path }), { ...rest, commitEvery: 1 }).run();
  }

  /** How many owners the requests since then had, each number once. */
  const groupSizes = (sandbox: Sandbox, since = 0): number[] => [
    ...new Set(
      sandbox.requests.slice(since).map(({ query }) => new URLSearchParams(query).getAll('owner_addresses[]').length),
    ),
  ];

  test('has enough groups for its concurrency, and keeps them at another one when it resumes', async () => {
    const folder = temporaryFolder();
    await using undisturbed = await startSandbox({ holdings, owners: 40 });
    await runGroups(undisturbed, join(folder, 'whole.jsonl'), { concurrency: 4 });
    expect(groupSizes(undisturbed)).toEqual([2]);
    const whole = readFileSync(join(folder, 'whole.jsonl'));

    for (const [nth, resumed] of [{ concurrency: 1 }, { concurrency: 8 }, { ownersPerRequest: 2 }].entries()) {
      let isFailing = true;
      await using sandbox = await startSandbox({
        holdings,
        owners: 40,
        script: (request) => (isFailing && request.nth > 12 ? { kind: 'status', status: 500 } : undefined),
      });
      const path = join(folder, `${nth}.jsonl`);
      const state = memoryState();
      await expect(runGroups(sandbox, path, { state, concurrency: 4 })).rejects.toMatchObject({ status: 500 });
      isFailing = false;
      const before = sandbox.requests.length;
      await expect(runGroups(sandbox, path, { state, ownersPerRequest: 3 })).rejects.toMatchObject({
        code: 'checkpoint',
        details: { changed: ['partitions'] },
      });
      expect(sandbox.requests).toHaveLength(before);
      const report = await runGroups(sandbox, path, { state, ...resumed });
      expect(report.resumedRows).toBeGreaterThan(0);
      expect(groupSizes(sandbox)).toEqual([2]);
      expect(readFileSync(path).equals(whole)).toBe(true);
    }
  });

  test('resumes with the size that it was given at first', async () => {
    let isFailing = true;
    await using sandbox = await startSandbox({
      holdings,
      owners: 40,
      script: ({ nth }) => (isFailing && nth > 6 ? { kind: 'status', status: 500 } : undefined),
    });
    const path = join(temporaryFolder(), 'rows.jsonl');
    const state = memoryState();
    await expect(runGroups(sandbox, path, { state, ownersPerRequest: 5 })).rejects.toMatchObject({ status: 500 });
    isFailing = false;
    await runGroups(sandbox, path, { state, concurrency: 4 });
    expect(groupSizes(sandbox)).toEqual([5]);
  });
});
