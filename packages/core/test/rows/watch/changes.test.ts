import { from, lastValueFrom, map, retry, toArray, type Observable } from 'rxjs';
import { TestScheduler } from 'rxjs/testing';
import { describe, expect, test } from 'vitest';
import { changes, DecodeError, type Change, type ChangesOptions, type Snapshot } from '../../../src/index.js';
import { FoldedChanges, inShort } from './foldedChanges.js';
import { row, rowsOf, type Row } from './listing.js';

const snapshot = (...rows: Row[]): Snapshot<Row> => ({ rows, observedAt: '2030-01-01T00:00:00.000Z' });
/** Snapshots by a letter each, for marbles. */
const snapshots = {
  n: snapshot(),
  a: snapshot(...rowsOf('a')),
  b: snapshot(...rowsOf('a', 'b')),
  e: snapshot(row('a', 'error'), row('b')),
  d: snapshot(row('a', 'active'), row('a', 'error')),
};
/** What is told, by a letter each. */
const told = {
  A: 'initial a',
  B: 'initial b',
  a: 'added a',
  b: 'added b',
  x: 'removed a',
  y: 'removed b',
  e: 'changed a: active -> error',
  o: 'changed a: error -> active',
};

function marbles(polled: string, expected: string, options: Partial<ChangesOptions<Row>> = {}): void {
  new TestScheduler((actual, wanted) => expect(actual).toEqual(wanted)).run(({ cold, expectObservable }) => {
    const shortly: Observable<string> = cold(polled, snapshots).pipe(
      changes({ key: ({ id }) => id, ...options }),
      map(inShort),
    );
    expectObservable(shortly).toBe(expected, told);
  });
}

describe('changes', () => {
  test('C7 are initial at first, added later', () => {
    marbles('--a--b--|', '--A--b--|');
    marbles('--n--a--|', '-----a--|');
  });

  test('are none between equal snapshots', () => {
    marbles('a-a-a-a-|', 'A-------|');
  });

  test('are several at once, in order: changed, added, removed', () => {
    marbles('b----e----n----|', '(AB)-e----(xy)-|');
    marbles('a----e----|', 'A----(eb)-|');
  });

  test('take each snapshot at its word: a row missed once goes and comes back', () => {
    marbles('b----a-b----|', '(AB)-y-b----|');
  });

  test('take the last of a row that is listed twice', () => {
    marbles('d-b----|', 'A-(ob)-|');
  });

  test('take a whole number for a key, which is the same one as its digits', async () => {
    const listed = [
      [{ id: 7, n: 1 }],
      [{ id: '7', n: 2 }],
      [
        { id: 7, n: 2 },
        { id: 8, n: 1 },
      ],
    ];
    const told = await lastValueFrom(
      from(listed).pipe(
        map((rows) => ({ rows, observedAt: '2030-01-01T00:00:00.000Z' })),
        changes<{ id: string | number; n: number }>({ key: ({ id }) => id, ignore: ['id'] }),
        map(({ type, key }) => `${type} ${key}`),
        toArray(),
      ),
    );
    expect(told).toEqual(['initial 7', 'changed 7', 'added 8']);
  });

  test('end with a DecodeError where nothing tells a row from others', () => {
    for (const key of [(): string => '', ({ id }: Row): string => Reflect.get(Object(id), 'none')]) {
      const failed = new Map<string, unknown>();
      new TestScheduler(() => undefined).run(({ cold }) => {
        cold('a|', snapshots)
          .pipe(changes({ key }))
          .subscribe({ error: (error: unknown) => failed.set('error', error) });
      });
      expect(failed.get('error')).toBeInstanceOf(DecodeError);
    }
  });

  test.each<[readonly string[], string | undefined]>([
    [['statuss'], 'project names the field "statuss", which no row has. Did you mean status?'],
    [['note', 'statuss.deep'], 'project names the field "statuss", which no row has. Did you mean status?'],
    [['status', 'statuss'], undefined],
    [['note'], undefined],
  ])('end with a ConfigError if the fields %j are misspelt, and could never differ', async (project, message) => {
    const rows = [{ id: 'a', status: 'ok' }];
    const flow = from([[], rows]).pipe(
      map((listed: readonly Row[]) => ({ rows: listed, observedAt: '2030-01-01T00:00:00.000Z' })),
      changes({ key: ({ id }) => id, project }),
      toArray(),
    );
    const outcome = lastValueFrom(flow);
    if (message === undefined) await expect(outcome).resolves.toHaveLength(1);
    else await expect(outcome).rejects.toMatchObject({ code: 'config', message });
  });

  test('C10 are not made by what is ignored', () => {
    marbles('b----e-|', '(AB)---|', { ignore: ['status'] });
    marbles('b----e-|', '(AB)---|', { project: ['id'] });
    marbles('b----e-|', '(AB)---|', { equals: () => true });
  });

  test('end and fail with what they are made of', () => {
    marbles('a-#', 'A-#');
    marbles('a-|', 'A-|');
  });

  test('begin anew with each subscription', () => {
    new TestScheduler((actual, wanted) => expect(actual).toEqual(wanted)).run(({ cold, expectObservable }) => {
      const again = cold('a-#', snapshots).pipe(changes({ key: ({ id }) => id }), retry(1), map(inShort));
      expectObservable(again).toBe('A-A-#', told);
    });
  });

  test('C5 add up to the last snapshot, and C8 each has an id of its own', () => {
    const all: Change<Row>[] = [];
    new TestScheduler(() => undefined).run(({ cold }) => {
      const polled = cold('a-b-e-b-e-n-b-a-b-e-|', snapshots);
      polled.pipe(changes({ key: ({ id }) => id })).subscribe((change) => all.push(change));
    });
    const { rows } = new FoldedChanges<Row>().take(all);
    expect([...rows.values()]).toEqual(snapshots.e.rows);
    expect(all.map(({ generation }) => generation).slice(0, 4)).toEqual([1, 2, 3, 4]);
  });
});
