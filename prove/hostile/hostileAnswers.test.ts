import { startSandbox } from '@sluice/sandbox';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { casesOf, someOf } from '../../scripts/testEffort.js';
import { apis, type ApiName } from '../../test/kit/apiReference.js';
import { corpusTexts } from './corpus.js';
import { hostileDocument, shortened } from './hostileDocument.js';
import { HostileWalks } from './hostileWalks.js';
import { hostileKey } from './keyTraces.js';
import { faultIn } from './oracle.js';

// No request is sent and no file is written; `npm run prove -- hostile` does that.
const walks = new HostileWalks({ url: 'http://127.0.0.1', folder: '' });
let rows: Readonly<Record<ApiName, readonly object[]>>;
const corpus = await corpusTexts();

beforeAll(async () => {
  await using sandbox = await startSandbox();
  rows = {
    streams: [...sandbox.streamRows()],
    aptos: Array.from({ length: 100 }, (_, index) => sandbox.holding(index)),
  };
});
afterAll(() => walks.close());

describe.each(apis)('responses of %s', (api) => {
  test.each(someOf([1, 2]))(
    'that are mutated yield the correct rows, or an error that says where, seed %i',
    { tags: ['slow'] },
    async (seed) => {
      const documents = fc.array(hostileDocument({ api, rows: rows[api], secret: hostileKey }), {
        minLength: 1,
        maxLength: 3,
      });
      const property = fc.asyncProperty(documents, async (texts) => (await faultOf(api, texts)) === undefined);
      const { counterexample } = await fc.check(property, { seed, numRuns: casesOf(350) });
      const smallest = counterexample?.[0];
      expect(smallest && { fault: await faultOf(api, smallest), texts: smallest.map(shortened) }).toBeUndefined();
    },
  );

  test.each(corpus)(
    'that are hostile, as $name, yield the correct rows, or an error that says where',
    async ({ text }) => {
      expect(await faultOf(api, [text])).toBeUndefined();
    },
  );
});

async function faultOf(api: ApiName, texts: readonly string[]): Promise<string | undefined> {
  const walk = { api, use: 'texts', texts } as const;
  return faultIn(walk, await walks.walk(walk));
}
