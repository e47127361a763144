import { existsSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';

import { packages } from './packages.mjs';

/** What tsc makes of a source. */
const compiled = /\.(js|d\.ts)(\.map)?$/;

/** Removes what was compiled from sources that are gone since: tsc leaves it there, and it would be published. */
export function removeLeftovers() {
  for (const { folder } of packages) {
    const dist = join(folder, 'dist');
    for (const file of filesIn(dist)) {
      const source = join(folder, 'src', file.replace(compiled, '.ts'));
      if (compiled.test(file) && !existsSync(source)) rmSync(join(dist, file));
    }
  }
}

function filesIn(folder) {
  return existsSync(folder) ? readdirSync(folder, { recursive: true }) : [];
}
