import { describe, expect, test } from 'vitest';
import { withParams } from '../../src/define/requests/requiredParams.js';

interface Params {
  readonly id?: string | number | null;
  readonly tag?: string;
  readonly user?: { readonly name?: string };
  readonly ids?: readonly string[];
}

const named = (what: 'query' | 'headers' | 'body') => ({ name: 'shop.orders', what });

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

  test('whose method is called is refused, and a reason of the definition is shown', () => {
    expect(() => withParams(({ tag, id }: Params) => [id, tag!.trim()], { id: 1 }, named('query'))).toThrow(
      expect.objectContaining({ details: { param: 'tag' } }),
    );
    const fail = (): string => {
      throw new RangeError('mine');
    };
    expect(() => withParams(fail, {}, named('query'))).toThrow('mine');
  });

  test('is recorded in frozen ones, dates and lists', () => {
    const params = Object.freeze({ user: Object.freeze({ name: 'n' }), at: new Date(0), ids: ['a', 'b'] });
    const query = ({ user, at, ids }: typeof params): string => `${user.name} ${at.getTime()} ${ids.join('-')}`;
    expect(withParams(query, params, named('query'))).toBe('n 0 a-b');
  });
});
