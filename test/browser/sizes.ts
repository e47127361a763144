import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { bundle } from './bundle.js';

/** How large a bundle is; as a budget: how large it may be, and what it was made of when that was decided. */
export interface Size {
  /** Bytes, packed. */
  readonly gzip: number;
  /** Bytes by room or dependency, minified and not packed. */
  readonly parts: Readonly<Record<string, number>>;
}

/** What is measured: what a page imports, without RxJS and axios, which it may well have for itself. */
const modules: Readonly<Record<string, readonly string[]>> = {
  core: ['@sluice/core'],
  'core, streams and aptos': ['@sluice/core', '@sluice/streams', '@sluice/aptos'],
};

/** The one place where budgets are. */
export const budgetPath = join(import.meta.dirname, 'sizeBudget.json');

export function readBudgets(): Readonly<Record<string, Size>> {
  return JSON.parse(readFileSync(budgetPath, 'utf8'));
}

/** The bundles' sizes as they are. */
export async function measure(): Promise<Readonly<Record<string, Size>>> {
  const sizes: Record<string, Size> = {};
  for (const [name, imported] of Object.entries(modules)) {
    const text = imported.map((specifier, n) => `export * as entry${n} from '${specifier}';`).join('\n');
    const external = ['rxjs', 'axios'];
    const { gzip } = await bundle({ text }, { external });
    // What is published is one file an entry: of which rooms that is made, the sources say.
    const { parts } = await bundle({ text }, { external, conditions: ['@sluice/source', 'module'] });
    sizes[name] = { gzip, parts: byRoom(parts) };
  }
  return sizes;
}

/** Adds up files by the package that they are of, and those of core by room. */
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

/** What to say of a bundle that is too large: by how much, and what grew most. `undefined`: it is not. */
export function excess(name: string, size: Size, budget: Size): string | undefined {
  const over = size.gzip - budget.gzip;
  if (over <= 0) return undefined;
  const grown = Object.entries(size.parts)
    .map(([part, bytes]): [string, number] => [part, bytes - (budget.parts[part] ?? 0)])
    .filter(([, more]) => more > 0)
    .sort(([, a], [, b]) => b - a)
    .map(([part, more]) => `${part} +${more}`);
  const share = ((100 * over) / budget.gzip).toFixed(1);
  return `${name}: ${size.gzip} bytes gzip are ${over} (${share} %) above its budget of ${budget.gzip}. Grown since it was set, in bytes not packed: ${grown.join(', ')}. If that is worth it: npm run size.`;
}
