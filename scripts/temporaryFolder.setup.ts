import { chmodSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** What loaders keep from one process to the next. */
export const loaderCache = /^(tsx-|node-compile-cache)/;

/** Gives all tests one temporary directory, and says what they leave in it. In CI that fails the run. */
export default function setup(): () => void {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-tests-'));
  // Servers of databases run as users of their own.
  chmodSync(folder, 0o1777);
  process.env['TMPDIR'] = folder;
  return () => {
    const left = readdirSync(folder).filter((name) => !loaderCache.test(name));
    rmSync(folder, { recursive: true, force: true });
    if (left.length === 0) return;
    console.error(`Tests left ${left.length} in the temporary directory: ${left.slice(0, 20).join(', ')}`);
    if (process.env['CI'] !== undefined) process.exitCode = 1;
  };
}
