// @module-tag slow
import { expect, test } from 'vitest';
import { onTestEnd } from '../../../../scripts/testScope.js';
import { redisProgram } from '../../../../test/kit/redisServer.js';
import { startCluster } from './startCluster.js';

test.runIf(redisProgram !== undefined)('Node warns of nothing if a worker has many partitions at once', async () => {
  const warnings: string[] = [];
  const onWarning = ({ message }: Error): void => void warnings.push(message);
  process.on('warning', onWarning);
  onTestEnd(() => void process.off('warning', onWarning));
  const setup = await startCluster({ owners: 24, holdings: 480, latency: 20 });
  await setup.submit();
  expect(await setup.work({ concurrency: 24 }).report).toMatchObject({ partitions: 24 });
  expect(warnings).toEqual([]);
});
