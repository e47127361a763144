import { rowFields, type ApiName } from '../../test/kit/apiReference.js';
import { revived } from './exactJson.js';
import type { ExpectedWalk } from './expectedWalk.js';
import { readCsv } from '../../packages/exporters/test/readCsv.js';
import type { WalkReport } from './hostileWalks.js';

/** What is wrong with rows that were written as CSV or JSON Lines, according to a reader that is not ours. */
export function writtenFault(
  api: ApiName,
  { csv, jsonl }: NonNullable<WalkReport['written']>,
  walks: readonly ExpectedWalk[],
): string | undefined {
  const faults = walks.map(({ rows }) => {
    const values = rows.map((row): Record<string, unknown> => JSON.parse(row, revived));
    return (
      (jsonl === undefined ? undefined : linesFault(jsonl, values)) ??
      (csv === undefined ? undefined : cellsFault(csv, values, rowFields[api]))
    );
  });
  return faults.includes(undefined) ? undefined : faults[0];
}

function linesFault(text: string, rows: readonly unknown[]): string | undefined {
  const lines = text.split('\n');
  if (lines.pop() !== '' || lines.length !== rows.length)
    return `There are ${lines.length} lines of JSON for ${rows.length} rows.`;
  const at = rows.findIndex((row, index) => JSON.stringify(JSON.parse(lines[index]!)) !== JSON.stringify(row));
  return at < 0 ? undefined : `Line ${at} is ${lines[at]?.slice(0, 500)}`;
}

function cellsFault(
  text: string,
  rows: readonly Record<string, unknown>[],
  names: readonly string[],
): string | undefined {
  const wanted = [
    names,
    ...rows.map((row) => names.map((name) => cellOf(Object.hasOwn(row, name) ? row[name] : undefined))),
  ];
  const records = readCsv(text);
  const at = wanted.findIndex((cells, index) => whole(JSON.stringify(cells)) !== whole(JSON.stringify(records[index])));
  if (at >= 0)
    return `Record ${at} is ${JSON.stringify(records[at] ?? null).slice(0, 800)}, and should be ${JSON.stringify(wanted[at]).slice(0, 800)}`;
  return records.length === wanted.length ? undefined : `There are ${records.length} records for ${wanted.length}.`;
}

function cellOf(value: unknown): string {
  if (value === null || value === undefined) return '';
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}

/** A file cannot contain halves of characters. */
function whole(text: string): string {
  return text.replace(/\\ud[89a-f][\da-f]{2}/g, '\ufffd').replace(/\p{Surrogate}/gu, '\ufffd');
}
