import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';

import { quietly, root } from './run.mjs';

export const tarballs = join(root, 'node_modules/.cache/tarballs');

/** Packs what is published, as `pnpm publish` would, into `tarballs`, where nothing else is. Build first. */
export async function pack() {
  rmSync(tarballs, { recursive: true, force: true });
  mkdirSync(tarballs, { recursive: true });
  await quietly('pnpm', ['--recursive', '--filter', './packages/*', 'pack', '--pack-destination', tarballs]);
}
