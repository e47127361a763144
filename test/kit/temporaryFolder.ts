import { mkdtempSync, statfsSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestEnd } from '../../scripts/testScope.js';

/** The command prints a warning for state in memory, so tests of its exact output need a disk. */
const tmpfs = 0x01021994;
const parent = statfsSync(tmpdir()).type === tmpfs ? '/var/tmp' : tmpdir();

/** A new, empty folder on a disk. It is removed when the test ends. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(join(parent, 'sluice-'));
  onTestEnd(() => rm(folder, { recursive: true, force: true }));
  return folder;
}
