import { mkdtempSync, rmSync, statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestEnd } from '../../../scripts/testScope.js';

/** What lies in memory is warned of, so that exact output needs a disk. */
const tmpfs = 0x01021994;
const parent = statfsSync(tmpdir()).type === tmpfs ? '/var/tmp' : tmpdir();

/** A new folder on a disk, which goes with the test. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(join(parent, 'sluice-cli-'));
  onTestEnd(() => {
    rmSync(folder, { recursive: true, force: true });
  });
  return folder;
}
