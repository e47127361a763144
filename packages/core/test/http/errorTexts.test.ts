import { describe, expect, onTestFinished, test } from 'vitest';
import {
  createClient,
  exportTo,
  SluiceError,
  type ClientEvent,
  type Link,
  type Page,
  type Sink,
} from '../../src/index.js';
import { byCursor, defineApi, listing } from '../../src/define/index.js';
import { serve } from '../define/servedApi.js';
import { canary, expectNoKey } from './canary.js';

interface Row {
  readonly id: number;
  readonly amount: string;
}

class OwnError extends Error {
  readonly row: unknown;

  constructor(row: Row) {
    super(`amount is ${row.amount}`);
    this.row = row;
  }
}

/** What foreign code throws about a row. */
const thrown: Readonly<Record<string, (row: Row) => unknown>> = {
  'an error': ({ amount }) => new Error(`amount is ${amount}`),
  'one of Sluice': ({ amount }) => new SluiceError('sink', `amount is ${amount}.`, { details: { row: { amount } } }),
  'an own class, with the row': (row) => new OwnError(row),
  'several errors': ({ amount }) => new AggregateError([new Error(amount), amount], 'all failed'),
  'a chain of causes': ({ amount }) => new Error('a', { cause: new Error('b', { cause: { amount } }) }),
  'an error that goes in circles': ({ amount }) => {
    const error = new Error(amount);
    return Object.assign(error, { cause: { error, amount }, list: [error, [amount]], toJSON: () => error.message });
  },
  'a map and a set': ({ amount }) =>
    Object.assign(new Error('a'), { details: { map: new Map([[amount, [amount]]]), set: new Set([amount]) } }),
  'a name of a field': ({ amount }) => Object.assign(new Error('a'), { [amount]: 1, fields: { [amount]: 1 } }),
  'an error whose message is made by a getter': ({ amount }) =>
    Object.create(new Error('a'), { message: { get: () => amount, configurable: true } }),
  'a frozen error': ({ amount }) => Object.freeze(new Error(amount)),
  'a text': ({ amount }) => amount,
  'an object': ({ amount }) => ({ message: amount, nested: [{ amount }] }),
};

/** A sink that refuses its first row. */
function refusing(fault: (row: Row) => unknown): Sink<Row> {
  return {
    name: 'own',
    identity: null,
    delivery: 'at-least-once' as const,
    open: () =>
      Promise.resolve({
        write: ({ items }: Pick<Page<Row>, 'items'>) => Promise.reject(fault(items[0]!) as Error),
        flush: () => Promise.resolve(null),
        seal: () => Promise.resolve(null),
        close: () => Promise.resolve({ target: 'own' }),
        abort: () => Promise.resolve(),
      }),
  };
}

/** A source whose rows have the key, as a server that echoes it would send them. */
async function echoing(decode?: (row: unknown) => Row, links: readonly Link[] = []) {
  const { baseUrl } = await serve(() => ({ body: [{ id: 1, amount: canary }] }));
  const items = listing<Row>({
    path: '/items',
    rows: '',
    columns: ['id', 'amount'],
    paging: byCursor({ param: 'c', at: () => undefined }),
    ...(decode && { decode, version: '1' }),
  } as Parameters<typeof listing<Row>>[0]);
  const api = defineApi({ name: 'echo', sources: { items } });
  const client = createClient({ apiKey: canary, rateLimit: false, links }).use(api({ baseUrl }));
  onTestFinished(() => client.close());
  const events: ClientEvent[] = [];
  client.events.subscribe((event) => events.push(event));
  return { source: client.echo.items(), get: () => client.echo.get('/items'), events };
}

function faultOf(work: Promise<unknown>): Promise<unknown> {
  return work.then(
    () => 'nothing',
    (error: unknown) => error,
  );
}

describe.each(Object.entries(thrown))('T2 a row with the key, about which foreign code throws %s', (_what, fault) => {
  test('leaves it in no error and no event of an export, and is not changed', async () => {
    const { source, events } = await echoing();
    let row: Row | undefined;
    const sink = refusing((each) => fault((row = each)));
    const error = await faultOf(exportTo(source, sink).run());
    expect(error).not.toBe('nothing');
    expectNoKey(error, events);
    expect(row).toEqual({ id: 1, amount: canary });
  });

  test('leaves it in no error of a link', async () => {
    const link: Link = (next) => async (request) => {
      const { body } = await next(request);
      throw fault((body as Row[])[0]!);
    };
    const { source, get, events } = await echoing(undefined, [link]);
    for (const error of [await faultOf(source.toArray()), await faultOf(get())]) expectNoKey(error, events);
  });

  test('leaves it in no error of a decoder', async () => {
    const { source, events } = await echoing((row) => {
      throw fault(row as Row);
    });
    expectNoKey(await faultOf(source.toArray()), events);
  });
});

test('T2 an error stays what it is, with all that is not the key', async () => {
  const { source } = await echoing();
  const error = await faultOf(
    exportTo(
      source,
      refusing((row) => new OwnError(row)),
    ).run(),
  );
  expect(error).toMatchObject({ summary: 'The sink own failed in write: amount is [hidden].' });
  const { cause } = error as Error;
  expect(cause).toBeInstanceOf(OwnError);
  expect(cause).toMatchObject({ message: 'amount is [hidden]', row: { id: 1, amount: '[hidden]' } });
});
