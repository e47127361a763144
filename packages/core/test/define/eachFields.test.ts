import { describe, expect, test } from 'vitest';
import { createClient } from '../../src/index.js';
import { defineApi, listing, onePage, rowOf } from '../../src/define/index.js';
import { onTestEnd } from '../../../../scripts/testScope.js';
import { serve } from './servedApi.js';

const common = { paging: onePage(), rows: 'items', columns: ['id'], version: '1' } as const;
const teams = listing({ ...common, path: '/teams', key: 'id' });

/** Teams as a server lists them, and the tasks of each. */
async function open(rows: readonly object[], params: Readonly<Record<string, `{${string}}`>>) {
  const server = await serve(({ pathname }) => ({ body: { items: pathname.endsWith('/teams') ? rows : [{ id: 1 }] } }));
  const tasks = listing({
    ...common,
    each: rowOf({ source: 'teams', params: { team: '{id}', ...params } }),
    path: '/teams/{team}/tasks',
    query: { of: '{team}' },
    fields: { team: '{team}' },
  });
  const client = createClient({ apiKey: false, rateLimit: false, retry: { retries: 0 } });
  onTestEnd(() => client.close());
  const api = client.use(defineApi({ name: 'own', sources: { teams, tasks } })({ baseUrl: server.baseUrl }));
  return { ...server, source: api.own.tasks() };
}

describe('A6 parameters that are fields of a parent', () => {
  test('are text or numbers, and lead into paths, queries and rows', async () => {
    const { source, asked } = await open([{ id: 'a/b' }, { id: 7 }], {});
    expect(await source.toArray()).toEqual([
      { team: 'a/b', id: 1 },
      { team: 7, id: 1 },
    ]);
    expect(asked).toEqual(['/teams', '/teams/a%2Fb/tasks?of=a%2Fb', '/teams/7/tasks?of=7']);
  });

  test.each([
    [{}, 'undefined'],
    [{ name: null }, 'null'],
    [{ name: { first: 'a' } }, 'an object'],
  ])('that %j lacks are an error that names the field and the parameter', async (row, what) => {
    const { source } = await open([{ id: 'a', ...row }], { name: '{name}' });
    await expect(source.toArray()).rejects.toThrow(
      `The field "name" of a row of teams is ${what}: as the parameter name, it must`,
    );
  });

  test('are part of the plan, since no function is', async () => {
    const [one, two] = [await open([], { name: '{name}' }), await open([], { name: '{title}' })];
    const settingsOf = ({ info }: typeof one.source) => JSON.stringify(info.identity).replace(/:\d+/g, '');
    expect(settingsOf(one.source)).not.toBe(settingsOf(two.source));
  });

  test.each(['name', '{name', '{a.b}', '{name} {id}', ''])('as %j are refused', (name) => {
    // @ts-expect-error: some of them are no field in braces.
    expect(() => rowOf({ source: 'teams', params: { name } })).toThrow(
      'rowOf() is invalid at params.name: it must be the name of a field of teams in braces',
    );
  });
});
