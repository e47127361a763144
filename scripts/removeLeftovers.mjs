import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';

import { packages } from './packages.mjs';

/** What tsc makes of a source. */
const declaration = /\.d\.ts(\.map)?$/;
/** What bundle.mjs makes. */
const script = /\.js(\.map)?$/;

/** Removes what was made of sources that are gone since: tsc, and a cache that is unpacked, leave it there, and it would be published. */
export function removeLeftovers() {
  for (const { folder } of packages) {
    const dist = join(folder, 'dist');
    if (!existsSync(dist)) continue;
    const bundled = new Set(readFileSync(join(dist, '.bundled'), 'utf8').split('\n'));
    for (const file of readdirSync(dist, { recursive: true })) {
      const name = file.replaceAll('\\', '/');
      const isLeft = script.test(name)
        ? !bundled.has(name)
        : declaration.test(name) && !existsSync(join(folder, 'src', name.replace(declaration, '.ts')));
      if (isLeft) rmSync(join(dist, file));
    }
  }
}
