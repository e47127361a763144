import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { ConfigError } from '@sluice/core';
import { describe, expect, test, vi } from 'vitest';
import { redisProgram } from '../../../../test/kit/redisServer.js';
import { RunRegistry } from '../../src/dispatch/registry.js';
import { openCluster, segments } from '../../src/index.js';
import { startCluster } from './startCluster.js';

describe.runIf(redisProgram !== undefined)('K4 the name of a run', () => {
  test('belongs to one of several that are submitted at the same time', { tags: ['slow'] }, async () => {
    const setup = await startCluster();
    const { plan, runFolder } = setup.holdings;
    const clusters = Array.from({ length: 6 }, () => openCluster({ url: setup.server.url }));
    const submits = clusters.map((cluster, at) => cluster.submit({ ...plan, to: segments(`${runFolder}-${at % 3}`) }));
    const results = await Promise.allSettled(submits);
    await Promise.all(clusters.map((cluster) => cluster.close()));
    const [run, ...others] = await setup.cluster.runs();
    expect(others).toEqual([]);
    const accepted = results.flatMap((result) => (result.status === 'fulfilled' ? [result.value.id] : []));
    expect(new Set(accepted)).toEqual(new Set([run?.id]));
    const refused = results.flatMap((result) => (result.status === 'rejected' ? [String(result.reason)] : []));
    expect(refused.length).toBeGreaterThanOrEqual(3);
    for (const reason of refused) expect(reason).toContain('Another run has the name holdings');
  });

  test('that is taken leaves the other folder as it is, so that it can have another name', async () => {
    const setup = await startCluster();
    await setup.submit();
    const { plan, folder } = setup.holdings;
    const other = join(folder, 'other');
    await expect(setup.cluster.submit({ ...plan, to: segments(other) })).rejects.toThrow(/Another run has the name/);
    expect(existsSync(other)).toBe(false);
    expect(await setup.cluster.submit({ ...plan, name: 'second', to: segments(other) })).toMatchObject({
      name: 'second',
    });
  });

  test('of a run elsewhere protects that one from what is meant for this one', { tags: ['slow'] }, async () => {
    const setup = await startCluster();
    const { plan, folder } = setup.holdings;
    const old = await segments(join(folder, 'old')).submit(plan);
    await setup.submit();
    await expect(setup.cluster.clean('holdings', old)).rejects.toThrow(/Redis knows another run by the name holdings/);
    expect(await setup.cluster.status('holdings', old)).toMatchObject({ state: 'unknown', done: 0 });
    await setup.cluster.cancel('holdings', old);
    expect(await setup.cluster.runs()).toMatchObject([{ state: 'active' }]);
    expect((await (await setup.run()).status()).isCancelled).toBe(false);
    expect(await setup.work().report).toMatchObject({ partitions: 8 });
    expect(await setup.cluster.status('holdings', old)).toMatchObject({ state: 'cancelled' });
  });

  test('is stored anew only if nobody else has done that since', async () => {
    const { cluster, redis, ...setup } = await startCluster();
    const submitted = await setup.submit();
    const registry = new RunRegistry(redis);
    const { run, text } = await registry.read('holdings');
    expect(run).toEqual(submitted);
    await vi.waitUntil(() => Date.now() > submitted.since, { interval: 1, timeout: 60_000 });
    const again = await setup.submit();
    // As a worker ends it that has seen the first one only.
    expect(await registry.replace(text, { ...submitted, state: 'finished', failed: 3 })).toBe(false);
    expect(await cluster.runs()).toEqual([again]);
  });
});

describe.runIf(redisProgram !== undefined)('K5 cleaning', () => {
  test('keeps the rows of a run that goes on, as far as Redis remembers them', { tags: ['slow'] }, async () => {
    const setup = await startCluster({ latency: 10, owners: 1, holdings: 400, pageSize: 10 });
    await setup.submit();
    const { sandbox, runFolder } = setup.holdings;
    const worker = setup.work({ concurrency: 1 });
    await vi.waitUntil(() => sandbox.requests.length >= 15, { interval: 1, timeout: 60_000 });
    await worker.stop();
    const rows = readdirSync(join(runFolder, 'rows', '0'));
    expect(rows).toHaveLength(1);
    expect(await setup.cluster.clean('holdings', await setup.run())).toBe(0);
    expect(readdirSync(join(runFolder, 'rows', '0'))).toEqual(rows);
    await setup.work().report;
    expect(sandbox.requests.length).toBeLessThan(43);
  });

  test('waits for no worker that can not work on the run', { tags: ['slow'] }, async () => {
    const setup = await startCluster();
    await setup.submit();
    const lacking = setup.work({ sources: {}, untilDone: false });
    await lacking.next(({ type }) => type === 'unable');
    const run = await setup.run();
    await vi.waitUntil(async () => (await setup.cluster.status('holdings', run)).workers.length === 1, {
      timeout: 60_000,
    });
    expect(await setup.cluster.clean('holdings', run)).toBe(0);
    await setup.cluster.cancel('holdings', run);
    await vi.waitUntil(async () => (await setup.cluster.status('holdings', run)).workers.length === 0, {
      timeout: 60_000,
    });
    await setup.cluster.clean('holdings', run);
    await expect(setup.cluster.find('holdings')).rejects.toBeInstanceOf(ConfigError);
    await lacking.stop();
  });
});
