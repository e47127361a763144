import { expect, test } from 'vitest';
import { type ApiKey, type IssuedSecret, RenewedSecret } from '../../src/auth/renewedSecret.js';
import { Secrets } from '../../src/http/secrets.js';
import { FakeClock } from '../fakeClock.js';

const rules = { failed: 'The function failed.', check: () => undefined, hidden: (secret: string) => [secret] };
const firstKey = 'key-of-ours-1';
const nextKey = 'key-of-ours-2';
const lastKey = 'key-of-ours-3';

interface Call {
  readonly reason: 'first' | 'refused';
  readonly resolve: (secret: string) => void;
  readonly reject: (error: Error) => void;
}

/** One over a function whose calls the test ends. */
function openRenewed() {
  const calls: Call[] = [];
  const provider: ApiKey = (reason) =>
    new Promise((resolve, reject) => {
      calls.push({ reason, resolve, reject });
    });
  const renewals = { times: 0 };
  const clock = new FakeClock();
  const source = new RenewedSecret(provider, rules, { secrets: new Secrets(), clock, echoedFor: 1_000, renewals });
  const end = (nth: number, secret: string): void => calls[nth]?.resolve(secret);
  return { source, calls, end, renewals, clock };
}

async function openedSource() {
  const opened = openRenewed();
  const got = opened.source.get();
  opened.end(0, firstKey);
  expect(await got).toBe(firstKey);
  return opened;
}

test('T6 an outdated secret is not sent until another one was fetched, once for all', async () => {
  const { source, calls, end, renewals } = await openedSource();
  expect(source.hasExpired).toBe(false);
  renewals.times += 1;
  expect(source.hasExpired).toBe(true);
  const got = [source.get(), source.get()];
  expect(calls.map(({ reason }) => reason)).toEqual(['first', 'first']);
  expect(source.hasExpired).toBe(true);
  end(1, nextKey);
  expect(await Promise.all(got)).toEqual([nextKey, nextKey]);
  expect(source.hasExpired).toBe(false);
  expect(await source.get()).toBe(nextKey);
});

test.each(['succeeds', 'fails'])(
  'T6 one that is outdated while it is fetched gives way to the next one, also if it %s later',
  async (how) => {
    const { source, calls, end, renewals } = await openedSource();
    renewals.times += 1;
    const overtaken = source.get();
    renewals.times += 1;
    const latest = source.get();
    expect(calls).toHaveLength(3);
    expect(source.get()).toBe(latest);
    end(2, lastKey);
    expect(await latest).toBe(lastKey);
    if (how === 'succeeds') end(1, nextKey);
    else calls[1]?.reject(new Error('out of order'));
    expect(await overtaken).toBe(lastKey);
    expect(source.hasExpired).toBe(false);
    expect(await source.get()).toBe(lastKey);
    expect(calls).toHaveLength(3);
  },
);

test('T6 one that is outdated while it is fetched gives way to the next one, also if it comes first', async () => {
  const { source, end, renewals } = await openedSource();
  renewals.times += 1;
  const overtaken = source.get();
  renewals.times += 1;
  const latest = source.get();
  end(1, nextKey);
  expect(source.hasExpired).toBe(true);
  end(2, lastKey);
  expect(await Promise.all([overtaken, latest])).toEqual([lastKey, lastKey]);
});

test('T6 after a function that failed, the next request calls it again', async () => {
  const { source, calls, end, renewals } = await openedSource();
  renewals.times += 1;
  const failed = source.get();
  calls[1]?.reject(new Error('not now'));
  await expect(failed).rejects.toThrow('The function failed.');
  expect(source.hasExpired).toBe(true);
  const again = source.get();
  end(2, nextKey);
  expect(await again).toBe(nextKey);
  expect(source.hasExpired).toBe(false);
});

test('T6 a secret that one path refuses is good for others until another one was fetched', async () => {
  const { source, calls, end } = await openedSource();
  const renewed = source.renew(firstKey);
  await expect.poll(() => calls.length).toBe(2);
  expect(calls[1]?.reason).toBe('refused');
  expect(source.hasExpired).toBe(false);
  end(1, nextKey);
  expect(await renewed).toBe(true);
});

test('R8 an expired token is not sent until another one was issued, once for all', async () => {
  const clock = new FakeClock();
  const issued: ((secret: IssuedSecret) => void)[] = [];
  const issue = (): Promise<IssuedSecret> => new Promise((resolve) => issued.push(resolve));
  const issuer = { takesPermits: false, issue, identify: () => Promise.resolve('id') };
  const source = new RenewedSecret(issuer, rules, { secrets: new Secrets(), clock, echoedFor: 1_000 });
  const first = source.get();
  issued[0]?.({ secret: firstKey, lifetime: 100_000 });
  expect(await first).toBe(firstKey);
  // 10 s, a tenth of its life, before its end.
  await clock.advance(89_999);
  expect(source.hasExpired).toBe(false);
  await clock.advance(1);
  expect(source.hasExpired).toBe(true);
  const got = [source.get(), source.get()];
  expect(issued).toHaveLength(2);
  expect(source.hasExpired).toBe(true);
  issued[1]?.({ secret: nextKey, lifetime: Infinity });
  expect(await Promise.all(got)).toEqual([nextKey, nextKey]);
  expect(source.hasExpired).toBe(false);
});
