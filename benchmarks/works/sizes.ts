import { readdirSync, readFileSync, realpathSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Work } from './work.js';

const packages = fileURLToPath(new URL('../../packages', import.meta.url));

/** The size of an installation of core, aptos and exporters with all dependencies. */
export const sizes: Work = () => {
  const bytes = new Map<string, number>();
  for (const name of ['core', 'aptos', 'exporters']) add(join(packages, name), bytes);
  const all = [...bytes].sort(([, a], [, b]) => b - a);
  const mebibytes = (size: number): number => size / 2 ** 20;
  const total = mebibytes(all.reduce((sum, [, size]) => sum + size, 0));
  const same = (median: number) => ({ median, from: median, to: median, unit: 'MiB' as const });
  return Promise.resolve([
    { work: 'installed: core, aptos, exporters', against: `${all.length} packages`, ...same(total) },
    ...all.slice(0, 4).map(([name, size]) => ({ work: `  of which ${name}`, against: '', ...same(mebibytes(size)) })),
  ]);
};

/** Adds a package and its dependencies. Of our own packages only the published files count. */
function add(folder: string, bytes: Map<string, number>): void {
  const manifest: Manifest = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
  if (bytes.has(manifest.name)) return;
  const isOurs = folder.startsWith(packages);
  const files = isOurs ? ['package.json', ...(manifest.files ?? [])] : ['.'];
  bytes.set(
    manifest.name,
    files.reduce((sum, file) => sum + sizeOf(join(folder, file)), 0),
  );
  const { dependencies, peerDependencies, peerDependenciesMeta = {} } = manifest;
  for (const name of Object.keys({ ...dependencies, ...peerDependencies }))
    if (peerDependenciesMeta[name]?.optional !== true) add(installed(name, folder), bytes);
}

interface Manifest {
  readonly name: string;
  readonly files?: readonly string[];
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
  readonly peerDependenciesMeta?: Readonly<Record<string, { readonly optional?: boolean }>>;
}

/** Where a package finds another one: next to itself, or in its own node_modules. */
function installed(name: string, folder: string): string {
  const real = realpathSync(folder);
  const near = [join(real, 'node_modules', name), ...ancestors(real).map((above) => join(above, 'node_modules', name))];
  const found = near.find((path) => statSync(path, { throwIfNoEntry: false }) !== undefined);
  if (found === undefined) throw new Error(`${name} is not installed for ${folder}.`);
  return realpathSync(found);
}

function ancestors(folder: string): string[] {
  const above = join(folder, '..');
  return above === folder ? [] : [above, ...ancestors(above)];
}

function sizeOf(path: string): number {
  const status = statSync(path, { throwIfNoEntry: false });
  if (!status) return 0;
  if (!status.isDirectory()) return status.size;
  return readdirSync(path)
    .filter((name) => name !== 'node_modules')
    .reduce((sum, name) => sum + sizeOf(join(path, name)), 0);
}
