import { isRecord } from '@sluice/core/kit';
import { quoteText } from './quoteText.js';

/** A value of a document, and its path as listings write it. */
export interface Field {
  readonly name: string;
  readonly path: string;
  /** Absent if only a schema is known. */
  readonly value?: unknown;
  readonly kind: 'text' | 'number' | 'boolean' | 'null' | 'unknown';
}

/** A list of objects in a document. */
export interface RowList {
  readonly path: string;
  readonly rows: readonly Readonly<Record<string, unknown>>[];
}

const deepest = 4;

/** The fields of a document that are neither lists nor objects, those of the top first. */
export function listFields(document: unknown): readonly Field[] {
  return walk(document).flatMap(({ name, path, value }) =>
    typeof value === 'object' && value !== null ? [] : [{ name, path, value, kind: nameKind(value) }],
  );
}

/** The lists of objects in a document, that of the most rows first. */
export function findRowLists(document: unknown): readonly RowList[] {
  const lists = walk(document).flatMap(({ path, value }) => {
    const rows = Array.isArray(value) ? value.filter(isRecord) : [];
    return rows.length > 0 && Array.isArray(value) && rows.length === value.length ? [{ path, rows }] : [];
  });
  return lists.sort((a, b) => b.rows.length - a.rows.length);
}

/** A path with one more name, as listings write it. */
export function joinPath(path: string, name: string): string {
  if (/^[^.?*[\]'"\s]+$/.test(name)) return path === '' ? name : `${path}.${name}`;
  return `${path}[${quoteText(name)}]`;
}

/** All values outside of lists, level by level. */
function walk(document: unknown): readonly { name: string; path: string; value: unknown }[] {
  const found = [{ name: '', path: '', value: document }];
  let level = found.slice();
  for (let depth = 0; depth < deepest; depth += 1) {
    level = level.flatMap(({ path, value }) =>
      isRecord(value)
        ? Object.entries(value).map(([name, value]) => ({ name, path: joinPath(path, name), value }))
        : [],
    );
    found.push(...level);
  }
  return found;
}

const kinds: Readonly<Record<string, Field['kind']>> = { string: 'text', number: 'number', boolean: 'boolean' };

function nameKind(value: unknown): Field['kind'] {
  return value === null ? 'null' : (kinds[typeof value] ?? 'unknown');
}
