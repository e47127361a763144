import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { startSandbox } from '@sluice/sandbox';
import { expect, test } from 'vitest';
import { exportArgs } from './interruptedExport.js';
import { settingsFor, sluice } from './runSluice.js';
import { temporaryFolder } from '../../../test/kit/temporaryFolder.js';

test('P4 an export from an API that goes round in a circle keeps each row once, says so each time it is run, and starts over once it is mended', async () => {
  let isMended = false;
  const lead = 5;
  const length = 3;
  const pageSize = 20;
  await using sandbox = await startSandbox({
    holdings: 1_000,
    script: ({ n }) =>
      !isMended && n === lead + length ? { kind: 'lead-back', rows: (length - 1) * pageSize, minted: true } : undefined,
  });
  const env = settingsFor(sandbox);
  const cwd = temporaryFolder();
  const args = exportArgs(sandbox, 'out.jsonl', '--page-size', String(pageSize));
  const linesIn = (name: string): number => readFileSync(join(cwd, name), 'utf8').split('\n').length - 1;
  for (let attempt = 0; attempt < 3; attempt += 1) {
    expect(await sluice(args, { env, cwd })).toEqual({
      code: 1,
      stdout: '',
      stderr: expect.stringMatching(
        /sluice: aptos\.nfts can't continue: page 9 has the same rows as an earlier page: .* tell the API's operator\. Try again later, or start over with --restart\. 160 rows committed\.\n$/,
      ),
    });
    expect(linesIn('out.jsonl.part')).toBe((lead + length) * pageSize);
  }
  // One more request for each run that goes on.
  expect(sandbox.counts.requests).toBe(lead + length + 3);
  isMended = true;
  expect(await sluice([...args, '--restart'], { env, cwd })).toMatchObject({ code: 0 });
  expect(linesIn('out.jsonl')).toBe(1_000);
});
