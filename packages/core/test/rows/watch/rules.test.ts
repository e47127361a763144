import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { ConfigError, exportTo, memoryState, watch, type Due, type WatchOptions } from '../../../src/index.js';
import { fileSink } from '../../../src/node/index.js';
import type { BootClock, PageHealth, RowFormat, Rule } from '../../../src/kit.js';
import { temporaryFolder } from '../../../../../test/kit/temporaryFolder.js';
import { Listing, row, type Row } from './listing.js';
import { SkippingClock } from './skippingClock.js';

const hour = 3_600_000;
const jsonLines: RowFormat<object> = {
  name: 'lines',
  identity: null,
  encoder: () => ({ header: '', encode: (rows) => rows.map((each) => `${JSON.stringify(each)}\n`).join('') }),
};
const dying: Rule<Row> = { when: ({ status }) => status === 'error', for: 20 * hour };

/** A watch by the hour, run by run. What it emits is taken. */
class HourlyWatch {
  readonly listing: Listing;
  readonly clock = new SkippingClock();
  readonly state = memoryState();
  /** Of the machine: its boot, and when that was, by `clock.time`. */
  boot = { id: 'a', at: 0 };
  readonly bootClock: BootClock = {
    id: () => Promise.resolve(this.boot.id),
    now: () => this.clock.time - this.boot.at,
  };

  constructor(...rows: Row[]) {
    this.listing = new Listing(rows);
  }

  /** Polls so many times, and tells what rules have found: `13: due dying a`. Hours are those since the beginning. */
  async run(
    polls: number,
    rules: NonNullable<WatchOptions<Row>['rules']>,
    { before = () => undefined, ...options }: Partial<WatchOptions<Row>> & { before?: (poll: number) => void } = {},
  ): Promise<string[]> {
    return (await this.events(polls, rules, { before, ...options })).map((event) => {
      const { type, rule, key, observedAt } = event;
      const why = event.type === 'resolved' ? event.why : undefined;
      const at = (Date.parse(observedAt) - this.clock.offset - Date.UTC(2030, 0, 1)) / hour;
      return [`${at}:`, type, rule, key, ...(why === undefined ? [] : [`(${why})`])].join(' ');
    });
  }

  async events(
    polls: number,
    rules: NonNullable<WatchOptions<Row>['rules']>,
    { before = () => undefined, ...options }: Partial<WatchOptions<Row>> & { before?: (poll: number) => void } = {},
  ): Promise<Due<Row>[]> {
    const { clock, state, bootClock: boot } = this;
    const found: Due<Row>[] = [];
    let poll = 0;
    const flow = watch(this.listing.source(), {
      every: hour,
      clock,
      state,
      boot,
      rules,
      polls,
      confirmations: 1,
      ...options,
    });
    before(0);
    for await (const page of flow.pages({ prefetch: 0 })) {
      for (const item of page.items) if (item.type === 'due' || item.type === 'resolved') found.push(item);
      poll += 1;
      before(poll);
    }
    return found;
  }
}

describe('a rule of a watch', () => {
  test('C13 is due once when it has held for its time, and resolved once', async () => {
    const watched = new HourlyWatch(row('a'), row('b'));
    const before = (poll: number): void => {
      if (poll === 3) watched.listing.set('a', 'error');
      if (poll === 30) watched.listing.set('a', 'active');
    };
    // Otherwise at the walk of hour 2, so by hour 22 it may have been so for 20 hours.
    expect(await watched.run(40, { dying }, { before })).toEqual(['22: due dying a', '30: resolved dying a (changed)']);
  });

  test('C13 is not due for a row that recovers in time, however often', async () => {
    const watched = new HourlyWatch(row('a'));
    const before = (poll: number): void => watched.listing.set('a', poll % 19 === 0 ? 'active' : 'error');
    expect(await watched.run(100, { dying }, { before })).toEqual([]);
  });

  test('C13 is due again as asked, at most once a walk', async () => {
    const watched = new HourlyWatch(row('a', 'error'));
    const again = { ...dying, for: 0, again: 2.5 * hour };
    expect(await watched.run(7, { again })).toEqual(['0: due again a', '3: due again a', '6: due again a']);
    watched.clock.time += hour;
    const [event] = await watched.events(1, { again: { ...again, again: hour } });
    expect(event?.times).toBe(4);
  });

  test('C13 does not know since when, at the first walk: the time counts from there', async () => {
    const watched = new HourlyWatch(row('a', 'error'));
    const [event] = await watched.events(21, { dying: { ...dying, deadline: 24 * hour } });
    expect(event).toMatchObject({
      type: 'due',
      observedAt: '2030-01-01T20:00:00.000Z',
      began: { earliest: null, latest: '2030-01-01T00:00:00.000Z' },
      actBefore: null,
      row: { id: 'a', status: 'error' },
    });
  });

  test('C13 has the earliest and the latest beginning, and until when one can act', async () => {
    const watched = new HourlyWatch(row('a'));
    const rules = { dying: { ...dying, deadline: 24 * hour } };
    await watched.events(3, rules);
    // Nobody looks for ten hours.
    watched.clock.time += 10 * hour;
    watched.listing.set('a', 'error');
    expect(await watched.events(12, rules)).toMatchObject([
      {
        began: { earliest: '2030-01-01T02:00:00.000Z', latest: '2030-01-01T12:00:00.000Z' },
        observedAt: '2030-01-01T22:00:00.000Z',
        actBefore: '2030-01-02T02:00:00.000Z',
      },
    ]);
  });

  test('C13 counts from the earliest through a time in which nobody looked, which moves the latest', async () => {
    const watched = new HourlyWatch(row('a'));
    await watched.events(3, { dying }, { before: (poll) => poll === 1 && watched.listing.set('a', 'error') });
    watched.clock.time += 30 * hour;
    expect(await watched.events(1, { dying })).toMatchObject([
      { began: { earliest: '2030-01-01T00:00:00.000Z', latest: '2030-01-02T08:00:00.000Z' } },
    ]);
  });

  test('C13 neither steps of the clock nor a reboot changes a duration', async () => {
    const watched = new HourlyWatch(row('a', 'error'));
    await watched.events(5, { dying });
    for (const step of [300, -600]) {
      watched.clock.offset += step * hour;
      expect(await watched.run(1, { dying })).toEqual([]);
    }
    // The wall clock was set back while it was off: then no time has passed.
    watched.clock.offset -= 100 * hour;
    watched.boot = { id: 'b', at: watched.clock.time };
    expect(await watched.run(1, { dying })).toEqual([]);
    expect((await watched.run(20, { dying })).length).toBe(1);
  });

  test('C13 does not move for a row that a walk does not list, and is resolved when its removal is confirmed', async () => {
    const watched = new HourlyWatch(row('a', 'error'), row('b'), row('c'));
    await watched.events(1, { dying });
    watched.listing.seenAs = (rows) => rows.filter(({ id }) => id !== 'a');
    expect(await watched.run(25, { dying }, { confirmations: 100 })).toEqual([]);
    watched.listing.seenAs = (rows) => rows;
    expect(await watched.run(1, { dying }, { confirmations: 100 })).toEqual(['24: due dying a']);
    watched.listing.remove('a');
    expect(await watched.run(3, { dying }, { confirmations: 3 })).toEqual(['26: resolved dying a (removed)']);
    expect(await watched.run(3, { dying })).toEqual([]);
  });

  test('C13 counts from the walk that listed the row last, where it was not listed in between', async () => {
    const watched = new HourlyWatch(row('a'), row('b'), row('c'));
    await watched.events(1, { dying }, { confirmations: 100 });
    watched.listing.seenAs = (rows) => rows.filter(({ id }) => id !== 'a');
    await watched.events(10, { dying }, { confirmations: 100 });
    watched.listing.seenAs = (rows) => rows;
    watched.listing.set('a', 'error');
    expect(await watched.events(12, { dying }, { confirmations: 100 })).toMatchObject([
      { began: { earliest: '2030-01-01T00:00:00.000Z', latest: '2030-01-01T09:00:00.000Z' } },
    ]);
  });

  test('C13 failed polls move nothing', async () => {
    const watched = new HourlyWatch(row('a', 'error'));
    await watched.events(1, { dying });
    watched.listing.onFetch = ({ walk }) => {
      if (walk % 2 === 0) throw new TypeError('no');
    };
    await expect(watched.events(1, { dying })).rejects.toThrow('no');
    expect(await watched.run(1, { dying })).toEqual([]);
  });

  test('C13 sees fields that the watch ignores, and emits no change for them', async () => {
    const watched = new HourlyWatch(row('a'));
    const before = (poll: number): void => watched.listing.set('a', poll < 3 ? 'active' : 'error');
    const rules = { dying: { ...dying, for: 0 } };
    const [event] = await watched.events(5, rules, { before, ignore: ['status'] });
    expect(event).toMatchObject({ observedAt: '2030-01-01T03:00:00.000Z', row: { status: 'error' } });
    expect(watched.clock.waits.length).toBe(4);
  });

  test('C13 is resolved when it is gone or another one, and begins anew', async () => {
    const watched = new HourlyWatch(row('a', 'error'));
    const rule = { ...dying, for: 0 };
    expect(await watched.run(1, { dying: rule })).toEqual(['0: due dying a']);
    expect(await watched.run(1, { dying: { ...rule, for: 5, again: 1_000 * hour } })).toEqual([]);
    expect(await watched.run(1, { dying: { ...rule, version: '2' } })).toEqual([
      '0: resolved dying a (rule)',
      '0: due dying a',
    ]);
    expect(await watched.run(2, { other: { ...rule, for: hour } })).toEqual([
      '0: resolved dying a (rule)',
      '1: due other a',
    ]);
    expect(await watched.run(2, {})).toEqual(['1: resolved other a (rule)']);
    expect(await watched.run(2, {})).toEqual([]);
  });

  test('C13 rests in a run without rules', async () => {
    const watched = new HourlyWatch(row('a', 'error'));
    expect(await watched.run(1, { dying: { ...dying, for: 0 } })).toHaveLength(1);
    const flow = watch(watched.listing.source(), { every: hour, clock: watched.clock, state: watched.state, polls: 3 });
    const items: unknown[] = [];
    for await (const page of flow.pages()) items.push(...page.items);
    expect(items).toEqual([]);
    expect(await watched.run(1, { dying: { ...dying, for: 0 } })).toEqual([]);
  });

  test('C13 takes the beginning from the row where that knows', async () => {
    const watched = new HourlyWatch(row('a', 'error'));
    const since = (): string => '2029-12-31T10:00:00Z';
    expect(await watched.events(10, { dying: { ...dying, since } })).toMatchObject([
      {
        began: { earliest: '2029-12-31T10:00:00.000Z', latest: '2029-12-31T10:00:00.000Z' },
        observedAt: '2030-01-01T06:00:00.000Z',
      },
    ]);
    // A step of the clock changes nothing of what the row says.
    watched.clock.offset -= 40 * hour;
    expect(await watched.events(2, { dying: { ...dying, since } })).toEqual([]);
  });

  test('C13 fails the poll in which a row says no time', async () => {
    const watched = new HourlyWatch(row('a', 'error'));
    const health: unknown[] = [];
    const since = (): string => (watched.listing.walks === 3 ? 'yesterday' : '');
    const onHealth = ({ outcome, error }: PageHealth): number =>
      health.push(outcome === 'failed' ? String(error) : outcome);
    await watched.events(1, {});
    expect(await watched.run(3, { dying: { ...dying, for: 0, since } }, { onHealth })).toHaveLength(1);
    expect(health).toEqual([
      'polled',
      expect.stringContaining('since of the rule "dying" returned text: it must be a date'),
      'polled',
    ]);
  });

  test('C13 is resolved for a row that was removed in a run without rules', async () => {
    const watched = new HourlyWatch(row('a', 'error'), row('b'));
    const rules = { dying: { ...dying, for: 0 } };
    expect(await watched.run(1, rules)).toEqual(['0: due dying a']);
    watched.listing.remove('a');
    const { clock, state } = watched;
    const flow = watch(watched.listing.source(), { every: hour, clock, state, polls: 3, confirmations: 1 });
    for await (const page of flow.pages()) expect(page.items.every(({ type }) => type === 'removed')).toBe(true);
    const [event, ...more] = await watched.events(2, rules);
    expect([event, more]).toEqual([
      expect.objectContaining({ type: 'resolved', why: 'removed', row: row('a', 'error') }),
      [],
    ]);
  });

  test('C13 takes the pauses of runs by cron for usual, and not a long one', async () => {
    const watched = new HourlyWatch(row('a', 'error'));
    const every = hour / 100;
    const latest = async (): Promise<string | undefined> => {
      const [event] = await watched.events(1, { dying: { ...dying, for: 0, again: 1 } }, { every });
      return event?.began.latest;
    };
    const all: (string | undefined)[] = [];
    for (const pause of [0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 30, 1, 1]) {
      watched.clock.time += pause * hour;
      all.push(await latest());
    }
    expect(all[0]).toBe('2030-01-01T00:00:00.000Z');
    const [first] = all.slice(7, 10);
    expect(new Set(all.slice(7, 10))).toEqual(new Set([first]));
    expect(new Set(all.slice(10))).toEqual(new Set(['2030-01-02T15:00:00.000Z']));
  });

  test('C13 comes and goes beside an export into a file, which stays the same', async () => {
    const watched = new HourlyWatch(row('a', 'error'));
    const { clock, state } = watched;
    const path = join(temporaryFolder(), 'changes');
    const run = async (rules?: NonNullable<WatchOptions<Row>['rules']>): Promise<unknown> => {
      const flow = watch(watched.listing.source(), { every: hour, clock, state, polls: 1, rules });
      return exportTo(flow, fileSink(jsonLines, { path }), { state, clock }).run();
    };
    for (const rules of [undefined, { dying: { ...dying, for: 0 } }, {}, undefined]) await run(rules);
    const types = readFileSync(path, 'utf8').trimEnd().split('\n');
    expect(types.map((line) => (JSON.parse(line) as { type: string }).type)).toEqual(['initial', 'due', 'resolved']);
  });

  test('C13 emits what was not taken again, with the same ids, in the order in which it was found', async () => {
    const watched = new HourlyWatch(row('a', 'error'), row('b'));
    const rules = { dying: { ...dying, for: 0 } };
    const { clock, state } = watched;
    const ids = async (): Promise<string[]> => {
      for await (const page of watch(watched.listing.source(), { every: hour, clock, state, rules }).pages())
        return page.items.map(({ id, type }) => `${type} ${id}`);
      return [];
    };
    const first = await ids();
    expect(first.map((each) => each.split(' ')[0])).toEqual(['initial', 'initial', 'due']);
    expect(new Set(first.map((each) => each.split(' ')[1])).size).toBe(3);
    expect(await ids()).toEqual(first);
    expect(await watched.events(1, rules)).toHaveLength(1);
  });

  test.each([
    [{ for: -1 }, 'The rule "dying".for is -1: it must be a number from 0 to ten years in ms.'],
    [{ for: Number.NaN }, 'The rule "dying".for is NaN'],
    [{ again: 0 }, 'The rule "dying".again is 0: it must be a number above 0, of at most ten years in ms.'],
    [{ deadline: -5 }, 'The rule "dying".deadline is -5'],
    [{ deadline: Infinity }, 'The rule "dying".deadline is Infinity'],
    [{ when: 'error' }, 'when: it is text, and must be a function'],
    [{ until: 5 }, 'has no option "until"'],
  ])('refuses %j with one sentence', (wrong, said) => {
    const rule: Rule<Row> = Object.assign({}, dying, wrong);
    const listing = new Listing([]);
    const make = () => watch(listing.source(), { every: hour, rules: { dying: rule } });
    expect(make).toThrow(ConfigError);
    expect(make).toThrow(said);
  });
});
