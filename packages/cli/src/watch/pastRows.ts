import type { Dashboard, Past, PastRow } from '@sluice/dashboard';
import type { History, RowVersion } from '@sluice/tables/sqlite';
import type { Environment } from '../environment/environment.js';
import { type DeclaredRows, findDeclared } from '../source/declaredRows.js';
import { openTable, tableName } from '../target/tableTarget.js';
import { fieldText } from '../terminal/format.js';
import { badFirst, Best } from './best.js';
import { PollGaps } from './pollGaps.js';

/** Ms before the start of a watch that its page shows. */
const shownBefore = 86_400_000;
/** Rows that the page has room for. */
const maxRows = 100;

/** Shows on the page of a watch into a history how its rows were in the last day. */
export async function showPast(page: Dashboard, to: string, now: number, environment: Environment): Promise<void> {
  const table = tableName(to);
  if (!table) return;
  const past = openTable(table, environment).then(({ readHistory }) =>
    readHistory((history) => readPast(history, now)),
  );
  // The first start creates the table. Whatever else is wrong with it is for the watch to say.
  const found = await past.catch(() => undefined);
  environment.signal.throwIfAborted();
  if (found) page.showPast(found);
}

/** `undefined` if nothing tells the status of a row, or no poll was recent. */
async function readPast(history: History, now: number): Promise<Past | undefined> {
  const declared = findDeclared(history.source);
  if (!declared?.schema.statusOf) return undefined;
  const polls = new PollGaps();
  for await (const { at } of history.polls()) polls.add(Date.parse(at));
  const { first = 0, last = 0 } = polls;
  if (last < now - shownBefore) return undefined;
  const since = Math.max(first, now - shownBefore);
  const best = new Best<PastRow>(
    maxRows,
    (one, other) =>
      badFirst(one.statuses.at(-1)?.status, other.statuses.at(-1)?.status) || changedAt(other) - changedAt(one),
  );
  let versions: RowVersion[] = [];
  const end = (): void => {
    if (versions.length > 0) best.add(toPast(versions, declared, since));
  };
  for await (const version of history.versions({ since: new Date(since).toISOString(), columns: declared.told })) {
    if (versions[0]?.key !== version.key) {
      end();
      versions = [];
    }
    versions.push(version);
    if (versions.length > 2 * maxVersions) versions = versions.slice(-maxVersions);
  }
  end();
  polls.add(now);
  const gaps = polls.list().filter(({ to }) => to > since);
  return { since, rows: best.list().toSorted((one, other) => changedAt(one) - changedAt(other)), gaps };
}

/** Versions of a row that are in memory at once. */
const maxVersions = 1_000;

function toPast(versions: readonly RowVersion[], { schema }: DeclaredRows, since: number): PastRow {
  const statuses: PastRow['statuses'][number][] = [];
  for (const { row, from, to, ended } of versions) {
    const status = fieldText(schema.statusOf?.(row)) || null;
    if (statuses.length === 0 || statuses.at(-1)?.status !== status)
      statuses.push({ from: Math.max(since, Date.parse(from)), status });
    if (ended === 'removed' && to !== undefined) statuses.push({ from: Date.parse(to) });
  }
  const [last] = versions.slice(-1);
  const name = last && fieldText(schema.nameOf?.(last.row)).trim();
  // As the watch calls it, which may be otherwise than the table does.
  const key = last && schema.key?.(last.row);
  return { key: typeof key === 'string' ? key : (last?.key ?? ''), ...(name && { name }), statuses };
}

function changedAt({ statuses }: PastRow): number {
  return statuses.at(-1)?.from ?? 0;
}
