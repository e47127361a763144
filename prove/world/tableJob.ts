import { map } from 'rxjs';
import type { NftHolding } from '@sluice/aptos';
import { exportTo, type RowSchema, SluiceError } from '@sluice/core';
import { sqlReader } from '../../packages/tables/src/sql/sqlValue.js';
import { tableSink } from '../../packages/tables/src/sql/tableSink.js';
import { difference } from './difference.js';
import type { JobOf, RunningJob } from './job.js';
import type { Apis } from './services.js';
import type { Store } from './store.js';

interface Row {
  readonly id: string;
  readonly name: string;
  /** Changes from one export to the next in some rows. */
  readonly tag: string;
}

const schema: RowSchema<Row> = { columns: ['id', 'name', 'tag'], types: { tag: 'integer' }, key: ({ id }) => id };

/** Exports holdings into a table, several times after each other, as a line of cron would. */
export function tableJob(job: JobOf<'table'>, apis: Apis, store: Store): RunningJob {
  const { mode, exports, ownersPerRequest, pageSize, concurrency, commitEvery } = job;
  const { addresses } = apis.holdings.owners;
  /** The owners of the nth export: the first one has all of them. */
  const ownersOf = (nth: number): readonly string[] =>
    nth === 0 ? addresses : addresses.filter((_, at) => (at + nth) % 3 !== 0 || addresses.length === 1);
  const rowOf = (holding: NftHolding, nth: number): Row => {
    // Some rows have the key of another one: then the last one in the order of the plan stays.
    const id = String(holding.token_data_id_hash).slice(-2);
    return { id, name: holding.name ?? '', tag: String((id.charCodeAt(0) + nth) >> 1) };
  };
  const rowsOf = (nth: number): readonly Row[] =>
    [...apis.holdings.of(ownersOf(nth))].map((holding) => rowOf(holding, nth));
  const isKeyed = mode === 'merge' || (mode === 'replace' && job.hasKey);
  // The owners of an export may be a third of those of the one before.
  const removal = mode === 'replace' && ({ maxRemoved: '100%' } as const);
  const wrong: string[] = [];
  let done = 0;
  let before: readonly Row[] = [];
  let after = outcomeOf(before, rowsOf(0), mode, isKeyed);
  /** The id under which the export before was published. */
  let published: string | undefined;
  /** The exports of the runs under way. A rival that waited for its turn exports what the other one has finished. */
  const underWay: { readonly nth: number }[] = [];
  /** The run that ended last failed: it may leave what it has fetched. */
  let isInterrupted = false;
  /** The last run ended with the advice to start over. */
  let isAdvised = false;
  const say = (what: string): void => {
    // The first sentences say enough.
    if (wrong.length < 5) wrong.push(what);
  };
  let judged: string | undefined = '';
  const judgeTable = (statements?: readonly string[]): void => {
    const [record] = store.read("SELECT record FROM _sluice WHERE target = 'rows' AND name = 'record/published'");
    const now = record && String(record['record']);
    judgeCheckpoint(now);
    if (now === judged && statements?.every((sql) => !sql.includes('"rows"'))) return;
    judged = now;
    const isAfter = now !== published;
    const rows = store.read('SELECT id, name, tag FROM rows').map(textOf);
    const expected = (isAfter ? after : before).map(textOf);
    const [actual, wanted, earlier] = [rows, expected, before.map(textOf)].map((all) => all.toSorted().join('\n'));
    if (isAfter && actual !== wanted && actual === earlier && underWay.some(({ nth }) => nth < done)) {
      published = now;
      return;
    }
    if (actual !== wanted)
      say(
        `A reader of export ${done + 1} (${isAfter ? 'published' : 'not published'}): ${difference(actual, wanted ?? '')}`,
      );
  };
  const judgeCheckpoint = (record: string | undefined): void => {
    const [found] = store.read("SELECT record FROM _sluice WHERE target = 'rows' AND name = 'record/checkpoint'");
    if (!found) return;
    const { rows, sinkPosition, finishedAt }: Checkpoint = JSON.parse(String(found['record']));
    const isPublished = sinkPosition !== undefined && record?.includes(sinkPosition.run) === true;
    if (finishedAt !== undefined && !isPublished)
      say('The checkpoint says that the export has finished, and nothing is published.');
    if (!sinkPosition || isPublished || sinkPosition.dropped.length > 0) return;
    const [stage] = store.read("SELECT name FROM sqlite_schema WHERE type = 'table' AND name GLOB '_sluice_*'");
    const [staged] = stage ? store.read(`SELECT count(*) AS n FROM ${String(stage['name'])}`) : [];
    if (staged?.['n'] !== String(rows))
      say(`The checkpoint has ${rows} rows, and ${String(staged?.['n'])} are staged.`);
  };
  return {
    onCommit: judgeTable,
    isPublished: () => Boolean(judged),
    async run({ client, life, clock, signal }, { pages }) {
      // Where all exports have finished, the last one is run again: with merge and replace it publishes the same rows.
      const nth = Math.min(done, exports - 1);
      const source = client.aptos.nfts({ ownerAddresses: ownersOf(nth), ownersPerRequest, pageSize }).pipePages(
        map((holding) => rowOf(holding, nth)),
        { schema, version: String(nth) },
      );
      const key = isKeyed && job.hasKey ? { key: ['id'] } : {};
      const sink = tableSink<Row>(store.databaseOf(life), 'rows', { table: 'rows', mode, ...key, ...removal });
      const run = { nth };
      underWay.push(run);
      try {
        await exportTo(source, pages.before(sink), {
          concurrency,
          prefetch: 1,
          clock,
          onExpired: 'restart-partition',
          restart: isAdvised,
          ...(commitEvery !== undefined && { commitEvery }),
        }).run({ signal });
        isInterrupted = false;
        isAdvised = false;
      } catch (error) {
        isInterrupted = true;
        // A rival that began the export before once more was interrupted.
        isAdvised ||= SluiceError.is(error, 'checkpoint') && error.message.includes('with different settings');
        throw error;
      } finally {
        underWay.splice(underWay.indexOf(run), 1);
      }
      if (nth === done) {
        const [record] = store.read("SELECT record FROM _sluice WHERE target = 'rows' AND name = 'record/published'");
        const now = record && String(record['record']);
        if (now === published) say(`Export ${nth + 1} has finished, and published nothing.`);
        published = now;
        done += 1;
        before = after;
        after = outcomeOf(before, rowsOf(Math.min(done, exports - 1)), mode, isKeyed);
      }
      return done === exports;
    },
    judge() {
      judgeTable();
      const left = store.read("SELECT name FROM sqlite_schema WHERE type = 'table' AND name GLOB '_sluice_*'");
      if (left.length > 0 && !isInterrupted) say(`Left behind: ${String(left[0]?.['name'])}`);
      return wrong;
    },
    get wrongSoFar() {
      return wrong;
    },
  };
}

interface Checkpoint {
  readonly rows: number;
  readonly sinkPosition?: { readonly run: string; readonly dropped: readonly number[] };
  readonly finishedAt?: string;
}

/** The rows of the table when an export has ended. */
function outcomeOf(
  before: readonly Row[],
  rows: readonly Row[],
  mode: JobOf<'table'>['mode'],
  isKeyed: boolean,
): readonly Row[] {
  const all = mode === 'append' || mode === 'merge' ? [...before, ...rows] : rows;
  return isKeyed ? [...new Map(all.map((row) => [row.id, row])).values()] : all;
}

const readText = sqlReader('text');

/** A row as both the API and the table have it. */
function textOf({ id, name, tag }: Readonly<Record<string, unknown>> | Row): string {
  return JSON.stringify([id, name, tag].map((value) => readText(value)));
}
