import { keyOf, type ApiName } from '../../test/kit/apiReference.js';
import { exactJson } from './exactJson.js';
import { expectedPage } from './expectedPage.js';
import type { ExpectedWalk } from './expectedWalk.js';
import type { SeenChange, WalkReport } from './hostileWalks.js';

/** What is wrong with the changes that a watch emits between a first listing and a walk through hostile responses. */
export function changesFault(
  api: ApiName,
  { error, changes = [] }: WalkReport,
  first: string,
  walks: readonly ExpectedWalk[],
): string | undefined {
  if (error) return changes.length > 0 ? 'A poll that failed has changed something.' : undefined;
  const page = expectedPage(api, first);
  const before = 'rows' in page ? page.rows.map(exactJson) : [];
  const seen = spelled(changes);
  const wanted = walks.filter(({ fault }) => !fault).map(({ rows }) => spelled(changesBetween(api, before, rows)));
  return wanted.includes(seen)
    ? undefined
    : `The watch saw ${seen.slice(0, 1_000)}, and should have seen ${wanted[0]?.slice(0, 1_000)}`;
}

function spelled(changes: readonly SeenChange[]): string {
  const texts = changes.map(({ type, key, before, after }) => [type, key, before, after].join('\n'));
  return texts.sort().join('\n\n');
}

/** The net difference. If two rows have the same key, the last one counts. Rows are exact JSON. */
function changesBetween(api: ApiName, before: readonly string[], after: readonly string[]): SeenChange[] {
  const [old, now] = [before, after].map((rows) => new Map(rows.map((row) => [keyOf(api, JSON.parse(row)), row])));
  const changes: SeenChange[] = [];
  for (const [key, row] of now ?? []) {
    const was = old?.get(key);
    if (was === undefined) changes.push({ type: 'added', key, before: 'null', after: row });
    else if (plain(was) !== plain(row)) changes.push({ type: 'changed', key, before: was, after: row });
  }
  for (const [key, row] of old ?? [])
    if (!now?.has(key)) changes.push({ type: 'removed', key, before: row, after: 'null' });
  return changes;
}

/** Rows are equal if their JSON is, whatever the order of their names. */
function plain(row: string): string {
  return JSON.stringify(JSON.parse(row), (_name, value: unknown) => {
    // In the notation of exactJson.
    if (value === 'number -0') return 0;
    if (value === 'number Infinity' || value === 'number -Infinity') return null;
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
    return Object.fromEntries(Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1)));
  });
}
