import { describe, expect, test } from 'vitest';
import { byLink, listing } from '../../src/index.js';
import { withParams } from '../../src/api/requiredParams.js';
import { openListing } from './servedApi.js';

interface Params {
  readonly id?: string | number | null;
  readonly tag?: string;
  readonly user?: { readonly name?: string };
  readonly ids?: readonly string[];
}

const named = (what: 'path' | 'query' | 'headers' | 'body') => ({ name: 'shop.orders', what });

describe('A8 a path', () => {
  test.each<[string, (params: Params) => string, Params, string]>([
    ['in a template', ({ id }) => `/orders/${String(id)}/items`, {}, 'id'],
    ['that is encoded', ({ id }) => `/orders/${encodeURIComponent(String(id))}`, {}, 'id'],
    ['inside a segment', ({ id }) => `/orders/order-${String(id)}.json`, {}, 'id'],
    ['that is null', ({ id }) => `/orders/${String(id)}`, { id: null }, 'id'],
    ['that is not a number', ({ id }) => `/orders/${String(id)}`, { id: NaN }, 'id'],
    ['that is empty, at the end', ({ id }) => `/orders/${String(id)}`, { id: '' }, 'id'],
    ['that is empty, in the middle', ({ id }) => `/orders/${String(id)}/items`, { id: '' }, 'id'],
    ['that is nested', ({ user }) => `/users/${String(user?.name)}`, { user: {} }, 'user.name'],
    ['that is nested in something missing', ({ user }) => `/users/${user!.name!}`, {}, 'user'],
    ['of a list', ({ ids }) => `/users/${String(ids?.[1])}`, { ids: ['a'] }, 'ids[1]'],
    ['whose method is called', ({ tag, id }) => `/${String(id)}/${tag!.trim()}`, { id: 1 }, 'tag'],
    ['beside an optional one', ({ tag, id }) => `${tag ? `/tags/${tag}` : ''}/orders/${String(id)}`, {}, 'id'],
    ['beside "null"', ({ tag, id }) => `/null/${String(id)}${tag ?? ''}`, {}, 'id'],
  ])('without a parameter %s is refused by its name', (_what, path, params, param) => {
    expect(() => withParams(path, params, named('path'))).toThrow(
      expect.objectContaining({
        code: 'config',
        message: expect.stringContaining(`needs the parameter ${JSON.stringify(param)}`),
        details: { param },
      }),
    );
  });

  test.each<[string, (params: Params) => string, Params, string]>([
    ['an optional one', ({ tag }) => (tag === undefined ? '/orders' : `/tags/${tag}`), {}, '/orders'],
    ['one with a default', ({ tag = 'all' }) => `/tags/${tag}`, {}, '/tags/all'],
    ['an optional one that ends it', ({ tag }) => `/tags/${tag ?? ''}`, {}, '/tags/'],
    ['one called null', ({ tag }) => `/users/${String(tag)}`, { tag: 'null' }, '/users/null'],
    ['a word of its own', ({ tag }) => `/undefined${tag ? `/${tag}` : ''}`, {}, '/undefined'],
    ['one of 0', ({ id }) => `/orders/${String(id)}`, { id: 0 }, '/orders/0'],
  ])('may have %s', (_what, path, params, made) => {
    if (made === '/undefined')
      expect(() => withParams(path, params, named('path'))).toThrow(/a part of its path has no value/);
    else expect(withParams(path, params, named('path'))).toBe(made);
  });

  test('with a value that was looked up, and not found, is refused', () => {
    const ids: Record<string, string> = { a: '1' };
    const path = ({ tag }: Params): string => `/tags/${String(ids[tag ?? ''])}`;
    expect(() => withParams(path, { tag: 'b' }, named('path'))).toThrow(/a part of its path has no value/);
    expect(() => withParams(() => `/x/${encodeURIComponent(String({}))}`, {}, named('path'))).toThrow(/no value/);
  });

  test('that throws for a reason of its own does so', () => {
    const fail = (): string => {
      throw new RangeError('mine');
    };
    expect(() => withParams(fail, {}, named('path'))).toThrow('mine');
  });

  test('does not see the parameters in another way: frozen ones, dates and lists', () => {
    const params = Object.freeze({ user: Object.freeze({ name: 'n' }), at: new Date(0), ids: ['a', 'b'] });
    const path = ({ user, at, ids }: typeof params): string =>
      `/${user.name}/${at.getTime()}/${ids.join('-')}/${ids.length}`;
    expect(withParams(path, params, named('path'))).toBe('/n/0/a-b/2');
  });
});

describe('A8 a missing parameter', () => {
  test.each<[string, 'query' | 'headers' | 'body', (params: Params) => unknown, string | undefined]>([
    ['a template in a query', 'query', ({ id }) => ({ filter: `id:${String(id)}` }), 'id'],
    ['a query', 'query', ({ id }) => ({ id }), undefined],
    ['a template in a body', 'body', ({ id }) => ({ deep: [{ filter: `id:${String(id)}` }] }), 'id'],
    ['a body', 'body', ({ id, tag }) => ({ ...(tag && { tag }), deep: [{ id }] }), 'id'],
    ['a body where it may be', 'body', ({ id }) => ({ id: id ?? null }), undefined],
    ['a header', 'headers', ({ id }) => ({ 'x-id': `for ${String(id)}` }), 'id'],
  ])('of %s', (_what, what, make, param) => {
    const made = (): unknown => withParams(make, {}, named(what));
    if (param === undefined) expect(made).not.toThrow();
    else expect(made).toThrow(expect.objectContaining({ code: 'config', details: { param } }));
  });

  test('is refused when the source is made, before any request', () => {
    const items = listing({
      paging: byLink(),
      rows: '',
      columns: ['id'],
      path: ({ order }: { order: string }) => `/orders/${order}/items`,
    });
    const open = openListing(items, { baseUrl: 'http://127.0.0.1:1' });
    expect(() => Reflect.apply(open, undefined, [{}])).toThrow(
      'test.items needs the parameter "order": its path is made of it.',
    );
  });
});
