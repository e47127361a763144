import { startSandbox } from '@sluice/sandbox';
import { describe, expect, test } from 'vitest';
import { temporaryFolder } from '../../../../test/kit/temporaryFolder.js';
import { idleConcurrency } from '../../src/commands/nfts.js';
import { main } from '../../src/program.js';
import { settingsFor } from '../runSluice.js';
import { testEnvironment } from '../testEnvironment.js';

const wallets = (count: number): string[] => Array.from({ length: count }, (_, nth) => `0x${nth + 1}`);

describe('concurrency that is not used', () => {
  test.each([
    [8, 8, undefined, '8 wallets in groups of 10 make 1 group, so the concurrency is 1 instead of 8.', 1, 8],
    [20, 8, undefined, '20 wallets in groups of 10 make 2 groups, so the concurrency is 2 instead of 8.', 2, 10],
    [3, 8, undefined, '3 wallets in groups of 10 make 1 group, so the concurrency is 1 instead of 8.', 1, 3],
    [30, 4, 15, '30 wallets in groups of 15 make 2 groups, so the concurrency is 2 instead of 4.', 7, 5],
  ])('%i wallets, concurrency %i, groups of %s', (owners, concurrency, ownersPerRequest, begin, size, groups) => {
    expect(idleConcurrency({ ownerAddresses: wallets(owners), concurrency, ownersPerRequest })).toBe(
      `${begin} For ${groups} groups give --owners-per-request ${size}; an export that was begun keeps its groups.`,
    );
  });

  test.each([
    [8, undefined, undefined],
    [8, 1, undefined],
    [80, 8, undefined],
    // Nothing would make more of them.
    [1, 8, undefined],
    [3, 8, 1],
  ])(
    'are none, or nothing helps: %i wallets, concurrency %i, groups of %s',
    (owners, concurrency, ownersPerRequest) => {
      expect(idleConcurrency({ ownerAddresses: wallets(owners), concurrency, ownersPerRequest })).toBeUndefined();
    },
  );

  test('are told of before an export, and what is advised keeps them busy', async () => {
    await using sandbox = await startSandbox({ owners: 8, holdings: 800 });
    const run = async (...more: string[]) => {
      const environment = testEnvironment({ variables: settingsFor(sandbox), folder: temporaryFolder() });
      const args = [
        'nfts',
        'export',
        '--owner',
        ...sandbox.owners,
        '--to',
        'out.csv',
        '--rate',
        'unlimited',
        '--concurrency',
        '8',
      ];
      expect(await main([...args, ...more], environment)).toBe(0);
      return environment.written.stderr();
    };
    const advice = /^8 wallets in groups of 10 make 1 group, .* give (--owners-per-request) (1);/m;
    const [, option = '', size = ''] = advice.exec(await run()) ?? [];
    expect(option).toBe('--owners-per-request');
    expect(await run(option, size)).not.toContain('groups');
    expect(await run('--quiet')).toBe('');
  });
});
