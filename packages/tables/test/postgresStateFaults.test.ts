// @module-tag slow
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { SluiceError } from '@sluice/core';
import { describe, expect, test } from 'vitest';
import { testStateStore } from '@sluice/testing';
import { bundled } from '../../../scripts/bundled.js';
import { casesOf, someOf } from '../../../scripts/testEffort.js';
import { onTestEnd } from '../../../scripts/testScope.js';
import { forkChild } from '../../core/test/node/forkChild.js';
import { allBut } from '../../testing/test/offering.js';
import { pgbouncerProgram, startPgbouncer } from '../../../test/kit/pgbouncer.js';
import { postgresPrograms } from '../../../test/kit/postgresServer.js';
import { Random } from '../../../test/kit/random.js';
import { postgresState } from '../src/postgres.js';
import { type Cut, startProxy } from './cuttingProxy.js';
import { openEmptyPostgres } from './databases.js';

const { signal } = new AbortController();

/** The same database through another port. */
function through(url: string, port: number): string {
  const other = new URL(url);
  other.port = String(port);
  return other.href;
}

describe.runIf(postgresPrograms !== undefined)('G5 the state in PostgreSQL', () => {
  testStateStore({
    ...allBut(),
    factory: async () => {
      const { url } = await openEmptyPostgres();
      const stateOf = () => postgresState({ url, name: 'job' });
      return { store: stateOf(), another: stateOf };
    },
  });
});

describe.runIf(postgresPrograms !== undefined && pgbouncerProgram !== undefined)(
  'G5 the state in PostgreSQL behind a pooler of transactions',
  () => {
    testStateStore({
      ...allBut(),
      factory: async () => {
        const database = await openEmptyPostgres();
        const pooler = await startPgbouncer(database, 2);
        onTestEnd(() => pooler.close());
        const stateOf = () => postgresState({ url: through(database.url, pooler.port), name: 'job' });
        return { store: stateOf(), another: stateOf };
      },
    });
  },
);

describe.runIf(postgresPrograms !== undefined)('state in PostgreSQL', () => {
  /** A state behind a proxy. */
  async function openBehindProxy(cutAt: (nth: number) => Cut) {
    const database = await openEmptyPostgres();
    const proxy = await startProxy(database.port, cutAt);
    onTestEnd(() => proxy.close());
    return { ...database, proxy, url: through(database.url, proxy.port) };
  }

  /** Two runs, one after the other, that write and read all that a state has. */
  async function useTwice(url: string) {
    const found: unknown[] = [];
    for (const run of [1, 2]) {
      const state = postgresState({ url, name: 'job', retry: { for: 20_000, baseDelay: 10 } });
      const release = await state.lock(signal);
      const log = state.log('watch');
      for await (const record of log.read()) found.push(record);
      found.push(await state.load('checkpoint'));
      for (const nth of [1, 2, 3]) await log.append({ run, nth });
      await state.save('checkpoint', { run });
      await state.save('gone', { run });
      await state.remove('gone');
      if (run === 1) await log.replace(Array.from({ length: 4 }, (_, nth) => ({ nth, text: 'x'.repeat(400_000) })));
      await log.append({ run });
      for await (const record of log.read()) found.push(record);
      found.push(await state.load('gone'));
      await release();
    }
    return found.map((record) => JSON.stringify(record)?.slice(0, 30));
  }

  test.each<Cut>(['before the commit', 'after the commit'])(
    'whose connection is cut %s has each record once, whichever commit it was',
    async (cut) => {
      const whole = await openBehindProxy(() => 'none');
      const expected = await useTwice(whole.url);
      expect(expected).toHaveLength(23);
      for (const nth of someOf(Array.from({ length: whole.proxy.commits }, (_, at) => at + 1))) {
        const { url, proxy } = await openBehindProxy((at) => (at === nth ? cut : 'none'));
        expect({ nth, found: await useTwice(url) }).toEqual({ nth, found: expected });
        // The release does not wait for a server that is away: the lease ends.
        expect(proxy.commits).toBeGreaterThan(nth - 1);
      }
    },
  );

  test('never takes a record of two rivals that take it from each other, through cuts at random', async () => {
    for (let seed = 1; seed <= casesOf(6); seed += 1) {
      const random = new Random(seed);
      const { url, query } = await openBehindProxy(() => {
        const at = random.next();
        return at < 0.05 ? 'before the commit' : at < 0.1 ? 'after the commit' : 'none';
      });
      const committed: string[] = [];
      /** Adds numbers until the state is taken over. */
      const rival = async (name: string): Promise<void> => {
        const state = postgresState({ url, name: 'job', lease: 1, retry: { for: 20_000, baseDelay: 10 } });
        const release = await state.lock(signal);
        try {
          const log = state.log('watch');
          for (let nth = 0; nth < 10; nth += 1) {
            const record = `${name} ${nth}`;
            await log.append({ record });
            committed.push(record);
          }
        } finally {
          await release();
        }
      };
      const outcomes = await Promise.allSettled(['a', 'b', 'c'].map(rival));
      for (const outcome of outcomes)
        if (outcome.status === 'rejected') expect(SluiceError.is(outcome.reason) && outcome.reason.code).toBe('lock');
      const rows = await query("SELECT record FROM _sluice_state WHERE name = 'log/watch' ORDER BY nth");
      const found = rows.map(({ record }) => String(JSON.parse(record ?? '').record));
      // Whoever was told that a record is stored finds it; nobody's is there twice, or after a later one of its run.
      expect(new Set(found).size).toBe(found.length);
      expect(committed.filter((record) => !found.includes(record))).toEqual([]);
      for (const name of ['a', 'b', 'c']) {
        const own = found.filter((record) => record.startsWith(name));
        expect(own).toEqual(own.map((_, nth) => `${name} ${nth}`));
      }
    }
  });

  test('of a process that was killed is taken over when its lease is over, with what it had saved', async () => {
    const { url } = await openEmptyPostgres();
    const child = forkChild(new URL('children/holdState.ts', import.meta.url), url, '500');
    let said = '';
    while (Number(said) < 3) said = await child.next();
    const state = postgresState({ url, name: 'job', lease: 500 });
    // It renews its lease with each save.
    await expect(state.lock(signal)).rejects.toThrow(`in use by process ${child.process.pid} of `);
    await child.kill();
    const release = await state.lock(signal);
    const saved = await state.load('checkpoint');
    expect(saved).toEqual({ saved: expect.any(Number) });
    expect(JSON.parse(JSON.stringify(saved)).saved).toBeGreaterThanOrEqual(Number(said));
    await release();
  });

  test('of a process that stopped within a transaction is not kept from others', async () => {
    const { url, query } = await openEmptyPostgres();
    const child = forkChild(new URL('children/holdState.ts', import.meta.url), url, '500');
    await child.next();
    const locked =
      "SELECT count(*) AS n FROM pg_stat_activity WHERE state = 'idle in transaction' AND query ~ '^(UPDATE|DELETE|INSERT)' AND datname = current_database()";
    // Until it is stopped while it holds the row of its lease.
    for (;;) {
      child.process.kill('SIGSTOP');
      if ((await query(locked)).some(({ n }) => n !== '0')) break;
      child.process.kill('SIGCONT');
      await child.next();
    }
    const release = await postgresState({ url, name: 'job', lease: 500 }).lock(signal);
    await release();
    child.process.kill('SIGCONT');
  });

  test('takes the snapshot of a million rows through a heap that has no room for a tenth of them', async () => {
    const peakOf = async (rows: number): Promise<number> => {
      const { url } = await openEmptyPostgres();
      const script = bundled(new URL('children/replaceLog.ts', import.meta.url));
      const child = fork(script, [url, String(rows)], { execArgv: ['--max-old-space-size=48'] });
      const [peak]: unknown[] = await Promise.race([once(child, 'message'), once(child, 'exit')]);
      return Number(peak);
    };
    const few = await peakOf(100_000);
    const many = await peakOf(1_000_000);
    expect(few).toBeGreaterThan(2 ** 20);
    expect(many - few).toBeLessThan(32 * 2 ** 20);
  }, 0);
});
