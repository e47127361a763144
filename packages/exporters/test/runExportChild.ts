import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { Sandbox } from '@sluice/sandbox';
import { bundled } from '../../../scripts/bundled.js';
import type { ExportOrder, ExportOutcome } from './exportChild.js';

/** How the process runs, and how it exports. */
interface ChildOptions {
  readonly nodeOptions?: readonly string[];
  readonly ulimit?: string;
  readonly concurrency?: number;
  readonly rowGroup?: number;
}

/** Exports all holdings of a sandbox to a file in a process of its own. */
export async function runExportChild(
  sandbox: Sandbox,
  path: string,
  { nodeOptions = [], ulimit = '', concurrency = 1, rowGroup }: ChildOptions = {},
): Promise<ExportOutcome> {
  const order = orderFor(sandbox, path, { concurrency, ...(rowGroup !== undefined && { rowGroup }) });
  const node = [process.execPath, ...nodeOptions, script()];
  const { stdout } = await promisify(execFile)(
    'bash',
    ['-c', `${ulimit && `ulimit ${ulimit} && `}exec "$@"`, 'bash', ...node, JSON.stringify(order)],
    { cwd: fileURLToPath(new URL('..', import.meta.url)) },
  );
  return JSON.parse(stdout);
}

/** The same, but the process is killed in the middle of a write. */
export async function killExportChild(
  sandbox: Sandbox,
  path: string,
  how: Required<Pick<ExportOrder, 'concurrency' | 'rowGroup' | 'stallAt'>>,
): Promise<void> {
  const child = spawn(process.execPath, [script(), JSON.stringify(orderFor(sandbox, path, how))], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const exit = once(child, 'exit');
  for await (const line of createInterface(child.stdout)) {
    if (line !== 'stalled') throw new Error(`The process was to be killed, and ended: ${line}`);
    child.kill('SIGKILL');
    break;
  }
  await exit;
}

function orderFor(
  { apiKey, aptosUrl, owners }: Sandbox,
  path: string,
  how: Omit<ExportOrder, 'apiKey' | 'aptosUrl' | 'owners' | 'path'>,
): ExportOrder {
  return { apiKey, aptosUrl, owners, path, ...how };
}

function script(): string {
  return bundled(new URL('exportChild.ts', import.meta.url));
}
