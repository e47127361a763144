import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { exportTo, type ExportReport } from '@sluice/core';
import { fileState } from '@sluice/core/node';
import { startSandbox, type Sandbox } from '@sluice/sandbox';
import { expect, test } from 'vitest';
import { jsonl } from '../src/jsonl.js';
import { sandboxClient } from './sandboxClient.js';
import { temporaryFolder } from '../../../test/kit/temporaryFolder.js';

const pageSize = 10;
const holdings = 400;
/** The 14th page leads back to the 10th, which no position remembers by itself. */
const lead = 9;
const length = 5;

/** Where a cursor of the sandbox's leads to. */
function placeOf(cursor: string | null): number {
  return Number(
    Buffer.from(cursor ?? '', 'base64url')
      .toString('latin1')
      .split('.')[0],
  );
}

async function run(
  sandbox: Sandbox,
  path: string,
  options: { readonly restart?: boolean } = {},
): Promise<ExportReport> {
  await using client = sandboxClient(sandbox);
  const source = client.aptos.nfts({ ownerAddresses: sandbox.owners, pageSize });
  return await exportTo(source, jsonl({ path }), { state: fileState(`${path}.sluice`), ...options }).run();
}

test.each([
  ['with cursors that are new ones', true, 1],
  ['with the cursors that it had', false, 0],
])(
  'P4 an export from a server that goes round %s keeps each row once, however often it is run again, and says to start over',
  async (_how, minted, requests) => {
    const path = join(temporaryFolder(), 'holdings.jsonl');
    let isMended = false;
    const isLast = (cursor: string | null): boolean => placeOf(cursor) === (lead + length - 1) * pageSize;
    await using sandbox = await startSandbox({
      holdings,
      script: ({ query }) =>
        !isMended && isLast(query.get('cursor'))
          ? { kind: 'lead-back', rows: (length - 1) * pageSize, minted }
          : undefined,
    });
    const all = [...sandbox.holdingsOf(sandbox.owners)];
    for (let attempt = 0; attempt < 3; attempt += 1) {
      const before = sandbox.counts.requests;
      await expect(run(sandbox, path)).rejects.toMatchObject({
        code: 'no-progress',
        message: expect.stringMatching(/start over with restart/i),
      });
      expect(linesOf(`${path}.part`)).toEqual(all.slice(0, (lead + length) * pageSize));
      if (attempt > 0) expect(sandbox.counts.requests - before).toBe(requests);
    }
    isMended = true;
    expect(await run(sandbox, path, { restart: true })).toMatchObject({ rows: holdings });
    expect(linesOf(path)).toEqual(all);
  },
);

function linesOf(path: string): unknown[] {
  return readFileSync(path, 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as unknown);
}
