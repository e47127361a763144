import { join } from 'node:path';
import { tarballs } from '../../scripts/pack.mjs';
import { packages } from '../../scripts/packages.mjs';

/** A package as it would be published. */
export interface Published {
  readonly name: string;
  readonly version: string;
  /** Its folder in this checkout. */
  readonly folder: string;
  readonly tarball: string;
  /** The specifiers of its entries: `@sluice/core/node`. */
  readonly entries: readonly string[];
}

/** Every package, as packed by `npm run test:packages`. */
export function published(): Published[] {
  return packages.map(({ name, folder, manifest, entries }) => ({
    name,
    folder,
    version: manifest.version,
    tarball: join(tarballs, `${name.slice(1).replace('/', '-')}-${manifest.version}.tgz`),
    entries: entries.map(({ specifier }) => specifier),
  }));
}
