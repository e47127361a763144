import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Sandbox } from '@sluice/sandbox';
import { settingsFor, startSluice, type Outcome, type RunOptions, type Running } from './runSluice.js';

/** Pages between two commits in these exports: few, so that little has to be fetched. */
export const commitEvery = 4;

/** The arguments that export all holdings of a sandbox. A busy machine would get to the lines of progress, which come every five seconds. */
export function exportArgs(sandbox: Pick<Sandbox, 'owners'>, to: string, ...more: string[]): string[] {
  const pace = ['--rate', 'unlimited', '--commit-every', String(commitEvery), '--progress', 'none'];
  return ['nfts', 'export', '--owner', ...sandbox.owners, '--to', to, ...pace, ...more];
}

/** Starts an export, and signals it when the sandbox has got so many more requests. It commits what it has fetched. */
export async function interrupt(
  sandbox: Sandbox,
  args: readonly string[],
  { after, signal = 'SIGINT', ...options }: RunOptions & { readonly after: number; readonly signal?: NodeJS.Signals },
): Promise<Outcome> {
  const running = startSluice(args, { env: settingsFor(sandbox), ...options });
  return signalled(sandbox, running, { after, signal });
}

/** Signals a command when the sandbox has got so many more requests; one that is done before is left alone. */
export async function signalled(
  sandbox: Sandbox,
  { process, ended }: Running,
  { after, signal }: { readonly after: number; readonly signal: NodeJS.Signals },
): Promise<Outcome> {
  const before = sandbox.counts.requests;
  await Promise.race([sandbox.until(() => sandbox.counts.requests >= before + after), ended]);
  process.kill(signal);
  return ended;
}

/** All files below a folder, by path, with a hash of their bytes: equal if nothing was touched. */
export function filesIn(folder: string): Record<string, string> {
  const names = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  const paths = names.map(({ parentPath, name }) => join(parentPath, name)).toSorted();
  return Object.fromEntries(paths.map((path) => [path.slice(folder.length + 1), hashOf(readFileSync(path))]));
}

/** The same without the records of finished exports, which say when that was. */
export function exportedIn(folder: string): Record<string, string> {
  const isRecord = (path: string): boolean => path.endsWith(join('.sluice', 'checkpoint'));
  return Object.fromEntries(Object.entries(filesIn(folder)).filter(([path]) => !isRecord(path)));
}

function hashOf(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex');
}
