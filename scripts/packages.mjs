import { readdirSync, readFileSync } from 'node:fs';
import { join, posix } from 'node:path';

import { root } from './run.mjs';

/** Every package that is published: its folder, its package.json, and its entries that have types. */
export const packages = readdirSync(join(root, 'packages'))
  .map((name) => join(root, 'packages', name))
  .map((folder) => {
    const manifest = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
    return { folder, name: manifest.name, manifest, entries: entriesOf(manifest) };
  });

/** The entries by what an import says: `@sluice/core/node` for the subpath `./node`. */
function entriesOf({ name, exports }) {
  return Object.entries(exports)
    .filter(([, target]) => target.types !== undefined)
    .map(([subpath, { types }]) => ({ specifier: posix.join(name, subpath), subpath, types }));
}
