import { serveListing, testSource, type SourceFixture } from '@sluice/testing';
import { describe } from 'vitest';
import { type Client, createClient } from '../../src/index.js';
import { defineApi } from '../../src/define/index.js';
import { allBut, notPaged } from '../../../testing/test/offering.js';
import { ChangingForge, forgeApi, type TableEntry } from './changingForge.js';
import { answerOf, issuesOf, reposOf, type Issue } from './parentsApi.js';
import type { Said } from './servedApi.js';

const counts = [3, 0, 1, 5, 2];
const repos = counts.map((_, id) => ({ id, name: `r${String(id)}` }));
const issues = Object.fromEntries(counts.map((count, id) => [`r${String(id)}`, count]));

/** A source on a server that answers as the suite says. */
async function fixtureOf<Row extends object>(
  answer: (url: URL) => Said,
  source: (client: Client, baseUrl: string) => () => ReturnType<SourceFixture<Row>['source']>,
): Promise<SourceFixture<Row>> {
  const api = await serveListing([], ({ url }) => answer(url));
  const client = createClient({ apiKey: 'key-of-forge-1', rateLimit: false });
  return {
    ...api,
    source: source(client, `${api.baseUrl}/api`),
    dispose: async () => {
      await client.close();
      await api.close();
    },
  };
}

describe('A6 a listing for each row of another one', () => {
  testSource({
    ...allBut(
      'a source with increments',
      '`useUpQuota` of the fixture',
      'partitions that are known before a walk',
      ...notPaged,
    ),
    factory: () =>
      fixtureOf<Issue>(
        (url) => answerOf({ repos, issues }, url),
        (client, baseUrl) =>
          client.use(defineApi({ name: 'forge', sources: { repos: reposOf(), issues: issuesOf() } })({ baseUrl })).forge
            .issues,
      ),
  });
});

describe('A5 a listing for each row of another one, from the mark of each', { tags: ['slow'] }, () => {
  const forge = new ChangingForge(1);
  // Their last changes are at different times.
  for (const name of ['a', 'b', 'c']) forge.add(name, 12);
  forge.advance(130_000);

  testSource({
    ...allBut('`useUpQuota` of the fixture', 'partitions that are known before a walk', ...notPaged),
    factory: () =>
      fixtureOf<TableEntry>(
        (url) => forge.answer(url),
        (client, baseUrl) => client.use(forgeApi()({ baseUrl })).forge.entries,
      ),
  });
});
