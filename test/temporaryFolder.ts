import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestEnd } from '../scripts/testScope.js';

/** A new folder, which goes with the test. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-'));
  onTestEnd(() => {
    rmSync(folder, { recursive: true, force: true });
  });
  return folder;
}
