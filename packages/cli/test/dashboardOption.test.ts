import { describe, expect, test } from 'vitest';
import { pageOptions, withoutDashboard } from '../src/source/dashboardPage.js';
import { parsePort } from '../src/options/option.js';
import { sluice } from './runSluice.js';

describe('--dashboard', () => {
  test.each<[readonly string[], readonly string[]]>([
    [
      ['watch', 'a.b', '--dashboard'],
      ['watch', 'a.b'],
    ],
    [
      ['watch', '--dashboard', '8080', 'a.b'],
      ['watch', 'a.b'],
    ],
    [
      ['watch', '--dashboard=8080', '--polls', '3'],
      ['watch', '--polls', '3'],
    ],
    [
      ['watch', '--dashboard', '--polls', '3'],
      ['watch', '--polls', '3'],
    ],
  ])('is left out of the command that shows the same: %j', (args, shown) => {
    expect(withoutDashboard(args)).toEqual(shown);
  });

  test('takes a port or none', () => {
    expect([pageOptions({}), pageOptions({ dashboard: true }), pageOptions({ dashboard: 80 })]).toEqual([
      undefined,
      {},
      { port: 80 },
    ]);
    expect(parsePort('65535')).toBe(65_535);
    for (const text of ['65536', '-1', '8.5', 'a', ' 80']) expect(() => parsePort(text)).toThrow('port');
  });

  test('needs a run for cluster status, before anything is connected', async () => {
    const { code, stderr } = await sluice(['cluster', 'status', '--dashboard']);
    expect([code, stderr]).toEqual([2, expect.stringContaining('name it')]);
  });
});
