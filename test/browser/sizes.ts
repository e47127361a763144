import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { bundle } from './bundle.js';

/** The size of a bundle. As a budget: the permitted size, and the composition when it was decided. */
export interface Size {
  /** Bytes after compression. */
  readonly gzip: number;
  /** Bytes by folder of core or by dependency, minified but not compressed. */
  readonly parts: Readonly<Record<string, number>>;
}

/** What is measured: the imports of a page, without RxJS, which the page may use for itself. */
const modules: Readonly<Record<string, readonly string[]>> = {
  core: ['@sluice/core'],
  'core and its doors': ['@sluice/core', '@sluice/core/define', '@sluice/core/kit', '@sluice/core/health'],
  'core, streams and aptos': ['@sluice/core', '@sluice/streams', '@sluice/aptos'],
};

/** The only file with budgets. */
export const budgetPath = join(import.meta.dirname, 'sizeBudget.json');

export function readBudgets(): Readonly<Record<string, Size>> {
  return JSON.parse(readFileSync(budgetPath, 'utf8'));
}

/** The current sizes of the bundles. */
export async function measure(): Promise<Readonly<Record<string, Size>>> {
  const sizes: Record<string, Size> = {};
  for (const [name, imported] of Object.entries(modules)) {
    const text = imported.map((specifier, n) => `export * as entry${n} from '${specifier}';`).join('\n');
    const external = ['rxjs'];
    const { gzip } = await bundle({ text }, { external });
    // Each published entry is one file; its source map says which folders it consists of.
    const { parts } = await bundle({ text }, { external, conditions: ['@sluice/source', 'module'] });
    sizes[name] = { gzip, parts: byRoom(parts) };
  }
  return sizes;
}

/** Adds up the files by package, and those of core by folder. */
function byRoom(files: ReadonlyMap<string, number>): Record<string, number> {
  const rooms: Record<string, number> = {};
  for (const [path, bytes] of files) {
    const [, dependency] = /.*node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(path) ?? [];
    const [, name, room] = /packages\/([^/]+)\/src\/(?:([^/]+)\/)?/.exec(path) ?? [];
    const part = dependency ?? [name, room].filter(Boolean).join('/');
    if (bytes > 0) rooms[part] = (rooms[part] ?? 0) + bytes;
  }
  return Object.fromEntries(Object.entries(rooms).sort(([a], [b]) => (a < b ? -1 : 1)));
}

/**
 * The message for a bundle above its budget: by how much, and what grew most. `undefined` if it is within its budget.
 */
export function excess(name: string, size: Size, budget: Size): string | undefined {
  const over = size.gzip - budget.gzip;
  if (over <= 0) return undefined;
  const grown = Object.entries(size.parts)
    .map(([part, bytes]): [string, number] => [part, bytes - (budget.parts[part] ?? 0)])
    .filter(([, more]) => more > 0)
    .sort(([, a], [, b]) => b - a)
    .map(([part, more]) => `${part} +${more}`);
  const share = ((100 * over) / budget.gzip).toFixed(1);
  return `${name}: ${size.gzip} bytes (gzip), ${over} (${share} %) above its budget of ${budget.gzip}. Growth since it was set, in uncompressed bytes: ${grown.join(', ')}. To accept it: npm run size.`;
}
