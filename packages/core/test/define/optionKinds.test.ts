import { describe, expect, test } from 'vitest';
import { createSource, exportTo, poll, watch, SluiceError, type Sink, type SourceDefinition } from '../../src/index.js';
import {
  basic,
  byConnection,
  byCursor,
  byHeader,
  byKeyset,
  byLink,
  byOffset,
  byPage,
  bySince,
  defineApi,
  graphqlErrors,
  header,
  listing,
  oauth2,
  queryKey,
  rowOf,
} from '../../src/define/index.js';

const paging = byPage({ param: 'page' });
const items = { path: '/items', paging, rows: 'items', columns: ['id'] } as const;
const rows: SourceDefinition<object> = {
  name: 'rows',
  identity: null,
  schema: { columns: ['id'] },
  fetch: () => Promise.resolve({ rows: [], next: 'end' }),
};
/** As JavaScript calls it. */
const loose = (call: (given: never) => unknown) => call as (given: unknown) => unknown;

/** Each function that takes options: some that are right, and the names of those that it requires. */
const functions: [string, Readonly<Record<string, unknown>>, readonly string[], (given: unknown) => unknown][] = [
  ['listing', items, ['path', 'paging', 'rows', 'columns'], loose(listing)],
  [
    'the paging of a listing',
    { ...paging },
    ['params', 'request', 'next'],
    (given) => loose(listing)({ ...items, paging: given }),
  ],
  [
    'the page size of a listing',
    { param: 'limit', default: 5 },
    ['param', 'default'],
    (given) => loose(listing)({ ...items, pageSize: given }),
  ],
  ['defineApi', { name: 'test', sources: { items: listing(items) } }, ['name', 'sources'], loose(defineApi)],
  [
    'a source of defineApi',
    { ...listing(items) },
    ['open'],
    (given) => loose(defineApi)({ name: 'test', sources: { items: given } }),
  ],
  ['byPage', { param: 'page' }, ['param'], loose(byPage)],
  ['byOffset', { param: 'offset' }, ['param'], loose(byOffset)],
  ['byCursor', { param: 'cursor', at: 'next' }, ['param', 'at'], loose(byCursor)],
  ['byHeader', { param: 'token', header: 'x-next' }, ['param', 'header'], loose(byHeader)],
  ['bySince', { param: 'since', field: 'at', type: 'instant' }, ['param', 'field', 'type'], loose(bySince)],
  ['a value of byKeyset', { param: 'after', field: 'id' }, ['param', 'field'], (given) => loose(byKeyset)([given])],
  ['rowOf', { source: 'repos', params: () => ({}) }, ['source', 'params'], loose(rowOf)],
  ['createSource', { ...rows }, ['name', 'schema', 'fetch'], loose(createSource)],
  ['oauth2', { tokenUrl: 'https://a.example/token', clientId: 'a' }, ['tokenUrl', 'clientId'], loose(oauth2)],
];

function refusal(call: () => unknown): unknown {
  try {
    return call();
  } catch (error) {
    return error;
  }
}

const isConfig = (error: unknown): boolean => SluiceError.is(error, 'config');

describe('options that a function needs', () => {
  test.each(functions)('%s: are accepted if they are there', (_what, right, _required, call) => {
    expect(() => call(right)).not.toThrow();
  });

  test.each(functions)(
    '%s: are refused by name if one is missing, null or something else',
    (_what, right, required, call) => {
      for (const option of required) {
        const { [option]: _left, ...rest } = right;
        for (const wrong of [rest, { ...right, [option]: null }, { ...right, [option]: true }]) {
          const error = refusal(() => call(wrong));
          expect([option, error, isConfig(error)]).toEqual([option, error, true]);
          expect(String(error)).toContain(option === 'open' ? 'define it with listing()' : option);
        }
      }
    },
  );

  test.each(functions)('%s: are refused if they are not an object', (_what, _right, _required, call) => {
    for (const wrong of [null, 7, 'text', true, []]) {
      const error = refusal(() => call(wrong));
      expect([wrong, error, isConfig(error)]).toEqual([wrong, error, true]);
    }
  });

  test('R2 a definition that lacks its paging says so in the manner of all its errors', () => {
    const { paging: _paging, ...without } = items;
    expect(() => loose(listing)(without)).toThrow(
      'The definition of a listing is invalid at paging: it is missing. Write paging: onePage() if one response has all rows.',
    );
    expect(() => loose(listing)({ ...items, paging: byPage })).toThrow('invalid at paging: it is a function');
    expect(() => loose(listing)(undefined)).toThrow('listing() takes an object with options: given is undefined.');
    expect(() => loose(byCursor)({ param: 'c' })).toThrow(
      'byCursor() is invalid at at: it is missing, and must be text or a function.',
    );
  });

  test.each<[string, (given: unknown) => unknown, unknown, string]>([
    [
      'of a listing',
      (given) => loose(listing)({ ...items, types: { id: given } }),
      'txt',
      'The definition of a listing is invalid at types: "id" is "txt", which is not a type. Did you mean text?',
    ],
    [
      'of a column that is none',
      (given) => loose(listing)({ ...items, columns: ['id', 'price'], types: given }),
      { pirce: 'number' },
      'invalid at types: "pirce" is not a column. Did you mean price?',
    ],
    [
      'of a source',
      (given) => loose(createSource)({ ...rows, schema: { columns: ['id'], types: { id: given } } }),
      'no-type',
      'The schema of rows is invalid at types: "id" is "no-type", which is not a type. Available: text, integer, number, boolean, timestamp, json.',
    ],
    [
      'of pages',
      (given) => createSource(rows).pipePages((pages) => pages, { schema: { columns: ['id'], types: given as never } }),
      { id: null },
      'The schema of pipePages() is invalid at types: "id" is null, which is not a type.',
    ],
    [
      'of bySince',
      (given) => loose(bySince)({ param: 'since', field: 'at', type: given }),
      'instnat',
      'The type of bySince is "instnat". Did you mean instant?',
    ],
  ])('an unknown type %s is refused with the nearest name', (_what, call, wrong, message) => {
    expect(String(refusal(() => call(wrong)))).toContain(message);
  });

  test.each<[string, (given: unknown) => unknown]>([
    ['byConnection', loose(byConnection)],
    ['byKeyset', loose(byKeyset)],
    ['basic', loose(basic)],
    ['exportTo', (given) => exportTo(given as never, {} as never)],
    ['the sink of exportTo', (given) => exportTo(createSource(rows), given as Sink<object>)],
    ['watch', (given) => watch(given as never, { every: 1_000 })],
    ['poll', (given) => poll(given as never, { every: 1_000 })],
  ])('%s: nothing, null or a function is refused', (_what, call) => {
    for (const wrong of [undefined, null, () => undefined]) expect(isConfig(refusal(() => call(wrong)))).toBe(true);
  });

  test.each<[string, (given: unknown) => unknown, unknown]>([
    ['byLink', loose(byLink), { at: null }],
    ['graphqlErrors', loose(graphqlErrors), null],
    ['header', (given) => header(given as string, 'secret'), {}],
    ['queryKey', (given) => queryKey(given as string, 'secret'), null],
    ['a column', (given) => loose(listing)({ ...items, columns: [given] }), 7],
    ['a total', (given) => loose(listing)({ ...items, total: given }), 7],
    ['types', (given) => loose(listing)({ ...items, types: given }), null],
    ['the type of a column', (given) => loose(listing)({ ...items, types: { id: given } }), 'txt'],
    ['a type that is null', (given) => loose(listing)({ ...items, types: { id: given } }), null],
    [
      'a type of a source',
      (given) => loose(createSource)({ ...rows, schema: { columns: ['id'], types: given } }),
      { id: 'int' },
    ],
    ['the meaning of a status', (given) => loose(listing)({ ...items, responses: { 404: given } }), 'expired'],
    ['a status', (given) => loose(listing)({ ...items, responses: given }), { 4: 'expired-cursor' }],
    ['options of header', (given) => loose((options: never) => header('X-Key', 'secret', options))(given), null],
    ['a prefix', (given) => loose((prefix: never) => header('X-Key', 'secret', { prefix }))(given), 7],
    ['a query', (given) => loose(listing)({ ...items, query: given }), null],
    ['params', (given) => loose(listing)({ ...items, query: () => ({}), params: given }), 'x'],
    [
      'what the responses of an API mean',
      (given) => loose(defineApi)({ name: 'test', sources: { items: listing(items) }, responses: given }),
      { 404: 'skp' },
    ],
    ['a schema of a parent', (given) => loose(rowOf)({ source: 'a', params: Object, given }), {}],
    ['a method', (given) => loose(listing)({ ...items, method: given }), 'PUT'],
    ['a format', (given) => loose(listing)({ ...items, format: given }), 'xml'],
  ])('%s of another kind is refused', (_what, call, wrong) => {
    expect(isConfig(refusal(() => call(wrong)))).toBe(true);
  });
});
