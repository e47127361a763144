import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { Sandbox } from '@sluice/sandbox';
import { bundled } from '../../../scripts/bundled.js';
import type { ExportOrder, ExportOutcome } from './exportChild.js';

/** Exports all holdings of a sandbox to a CSV in a process of its own. */
export async function runExportChild(
  sandbox: Sandbox,
  path: string,
  {
    nodeOptions = [],
    ulimit = '',
    concurrency = 1,
  }: { readonly nodeOptions?: readonly string[]; readonly ulimit?: string; readonly concurrency?: number } = {},
): Promise<ExportOutcome> {
  const { apiKey, aptosUrl, owners } = sandbox;
  const order: ExportOrder = { apiKey, aptosUrl, owners, path, concurrency };
  const node = [process.execPath, ...nodeOptions, bundled(new URL('exportChild.ts', import.meta.url))];
  const { stdout } = await promisify(execFile)(
    'bash',
    ['-c', `${ulimit && `ulimit ${ulimit} && `}exec "$@"`, 'bash', ...node, JSON.stringify(order)],
    { cwd: fileURLToPath(new URL('..', import.meta.url)) },
  );
  return JSON.parse(stdout);
}
