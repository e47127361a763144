import { reportOf } from '../errorReport.js';
import { isCount, isRecord } from '../record.js';
import type { SourceEvent } from '../source/sourceEvent.js';

type Fields = Readonly<Record<string, unknown>>;

/** What a plugin told of a source, made anew of the fields that such an event has; `undefined` if it is none. A plugin may tell anything. */
export function sourceEventOf(told: unknown): SourceEvent | undefined {
  try {
    return isRecord(told) ? eventOf({ ...told }) : undefined;
  } catch {
    return undefined;
  }
}

function eventOf(fields: Fields): SourceEvent | undefined {
  switch (fields['type']) {
    case 'page':
      return pageOf(fields);
    case 'commit':
      return commitOf(fields);
    case 'error':
      return errorOf(fields);
    default:
      return undefined;
  }
}

function pageOf({ source, part, page, rows, total }: Fields): SourceEvent | undefined {
  if (typeof source !== 'string' || !isCount(part) || !isCount(page) || !isCount(rows)) return undefined;
  return { type: 'page', source, part, page, rows, ...(isCount(total) && { total }) };
}

function commitOf({ source, sink, rows, pages, isSealed }: Fields): SourceEvent | undefined {
  if (typeof source !== 'string' || typeof sink !== 'string' || typeof isSealed !== 'boolean') return undefined;
  if (!isCount(rows) || !isCount(pages)) return undefined;
  return { type: 'commit', source, sink, rows, pages, isSealed };
}

function errorOf({ of, name, error }: Fields): SourceEvent | undefined {
  if (typeof name !== 'string' || (of !== 'walk' && of !== 'watch' && of !== 'export')) return undefined;
  return { type: 'error', of, name, error: reportOf(error) };
}
