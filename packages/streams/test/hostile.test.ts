import { createClient } from '@sluice/core';
import { startSandbox } from '@sluice/sandbox';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { AnsweringLink } from '../../core/test/hostile/answeringLink.js';
import { faultOf, hostileFault, type Hostage } from '../../core/test/hostile/hostileFault.js';
import { hostileKey } from '../../core/test/hostile/hostileKey.js';
import { corpusTexts } from '../../../prove/hostile/corpus.js';
import { casesOf } from '../../../scripts/testEffort.js';
import { streams } from '../src/index.js';

const link = new AnsweringLink(hostileKey);
const client = createClient({ apiKey: hostileKey, rateLimit: false, links: [link.link] }).use(
  streams({ baseUrl: 'http://127.0.0.1/' }),
);
const hostage: Hostage = { api: 'streams', source: client.streams.list(), link };
let rows: readonly object[];

beforeAll(async () => {
  await using sandbox = await startSandbox();
  rows = [...sandbox.streamRows()];
});
afterAll(() => client.close());

test.each([1, 2])('mutated answers give the right rows, or an error that says where, seed %i', async (seed) => {
  expect(await hostileFault(hostage, { rows, seed, walks: casesOf(350) })).toBeUndefined();
});

test.each(await corpusTexts())(
  'a hostile answer, $name, gives the right rows, or an error that says where',
  async ({ text }) => {
    expect(await faultOf(hostage, [text])).toBeUndefined();
  },
);
