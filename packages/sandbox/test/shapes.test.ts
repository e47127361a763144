import { describe, expect, test } from 'vitest';
import { startSandbox, type SandboxOptions } from '../src/index.js';
import { ask } from './ask.js';

const list = expect.any(Array);
const noList = expect.not.objectContaining({ length: expect.any(Number) });

describe('the live service’s shape, which is the default', () => {
  test.each([undefined, 'live', {}] as const)(
    '%j has lists inside of streams, and no cursor behind the last',
    async (shape) => {
      const answer = await answerOf('streams', { streams: 1, ...(shape !== undefined && { shape }) });
      expect(answer).not.toHaveProperty('cursor');
      expect(answer).toMatchObject({
        result: [
          {
            abi: [{ inputs: list, outputs: list }],
            advancedOptions: list,
            getNativeBalances: [{ selectors: list }],
            triggers: [{ inputs: list, functionAbi: { inputs: list, outputs: list } }],
          },
        ],
        total: 1,
      });
    },
  );

  test('has a holding’s properties as an object', async () => {
    const answer = await answerOf('aptos', { holdings: 1 });
    expect(answer).toMatchObject({
      result: [{ token_properties: { level: expect.any(String) } }],
      cursor: null,
      hasNextPage: false,
    });
  });
});

describe('the shape that the reference shows', () => {
  test('has single objects inside of streams, and one for `result` where it has one', async () => {
    const answer = await answerOf('streams', { streams: 1, shape: 'reference' });
    expect(answer).toMatchObject({
      result: {
        abi: { inputs: noList, outputs: noList },
        advancedOptions: noList,
        getNativeBalances: { selectors: list },
        triggers: { inputs: list, functionAbi: { inputs: list, outputs: list } },
      },
      cursor: null,
      total: 1,
    });
  });

  test('has a holding’s properties as text, the same as in the live shape', async () => {
    const texts = { nested: 'reference' } as const;
    await using live = await startSandbox({ nasty: 0, holdings: 100 });
    await using reference = await startSandbox({ nasty: 0, holdings: 100, shape: texts });
    for (const [at, row] of [...live.holdingsOf(live.owners)].entries())
      expect(reference.holding(at)).toEqual({ ...row, token_properties: JSON.stringify(row.token_properties) });
  });
});

test('another shape is refused by name', async () => {
  const options: SandboxOptions = JSON.parse('{"shape":"dead"}');
  await expect(startSandbox(options)).rejects.toThrow(new RangeError('shape is "dead": give live or reference.'));
});

async function answerOf(endpoint: 'streams' | 'aptos', options: SandboxOptions): Promise<unknown> {
  await using sandbox = await startSandbox({ nasty: 0, ...options });
  return await (await ask(sandbox, endpoint)).json();
}
