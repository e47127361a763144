import { mkdtempSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestEnd } from '../../../../scripts/testScope.js';

/** An empty folder that goes away with its test. */
export function tempFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-'));
  onTestEnd(() => rm(folder, { recursive: true, force: true }));
  return folder;
}
