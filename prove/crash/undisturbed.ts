import { mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { startSandbox } from '@sluice/sandbox';
import type { ChildRuns } from './childRuns.js';
import { size, type Format } from './exportOrder.js';

/** The bytes of an uninterrupted export. */
export async function undisturbed(format: Format, seed: number, children: ChildRuns, folder: string): Promise<Buffer> {
  await using sandbox = await startSandbox({ seed, holdings: size.holdings, owners: size.owners });
  const { apiKey, aptosUrl, owners } = sandbox;
  await mkdir(folder);
  const path = join(folder, `holdings.${format}`);
  const order = { apiKey, aptosUrl, owners, path, format, concurrency: 1, commitEvery: 32, ifExists: 'fail' } as const;
  const end = await children.start(order).ended;
  if (end.how !== 'done')
    throw new Error(`An undisturbed export ${end.how === 'failed' ? `failed: ${end.why}` : 'was killed'}`);
  return await readFile(path);
}
