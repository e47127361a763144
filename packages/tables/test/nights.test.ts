// @module-tag slow
import {
  createSource,
  exportTo,
  HttpError,
  PaginationError,
  SinkError,
  SluiceError,
  systemClock,
  type ExportOptions,
  type ExportReport,
  type Sink,
  type Source,
} from '@sluice/core';
import { describe, expect, test } from 'vitest';
import type { TableMode, TableOptions } from '../src/sqlite.js';
import { databaseKinds, type TestDatabase } from './databases.js';

const hour = 3_600_000;
const modes: readonly TableMode[] = ['fail', 'append', 'merge', 'replace'];
const isRefreshed = (mode: TableMode): boolean => mode === 'merge' || mode === 'replace';

interface Row {
  readonly id: number;
  readonly night: string;
}

interface Night {
  /** Called before each page is given, with the night of its cursor, if it has one. */
  readonly onPage?: (page: number, cursorOf: number | undefined) => void | Promise<void>;
  readonly options?: ExportOptions;
  readonly ids?: readonly number[];
  readonly isIncomplete?: boolean;
  /** The total that each page states. */
  readonly total?: number;
  /** Whether it is killed at its last step, and whether its rows are in the table by then. */
  readonly isKilledAtEnd?: boolean;
  readonly isPublished?: boolean;
  /** Whether the table can't be opened. */
  readonly isUnreachable?: boolean;
  readonly table?: Omit<TableOptions, 'table'>;
  readonly isKeyless?: boolean;
  readonly bounds?: { readonly pageSize?: number; readonly maxRows?: number };
}

/** A listing that has the rows of a night, and a table into which it is exported with the same command each night. */
class Nights {
  hours = 0;
  readonly warnings: string[] = [];
  readonly #database: TestDatabase;
  readonly #mode: TableMode;
  readonly #name: string;

  constructor(database: TestDatabase, mode: TableMode, name: string = mode) {
    this.#database = database;
    this.#mode = mode;
    this.#name = name;
  }

  /** Runs the command, which is interrupted where a page throws. */
  run(night: Night = {}): Promise<ExportReport> {
    const key = isRefreshed(this.#mode) && !night.isKeyless && { key: ['id'] };
    const table = this.#database.sink<Row>({ table: this.#name, mode: this.#mode, ...key, ...night.table });
    const away = (): Promise<never> => Promise.reject(new SinkError('The database is away.'));
    const opened = night.isUnreachable ? { ...table, open: away } : table;
    const sink = night.isKilledAtEnd ? killedAtEnd(table, night) : opened;
    return exportTo(this.#source(night), sink, {
      commitEvery: 1,
      clock: { ...systemClock, now: () => Date.UTC(2030, 0, 1) + this.hours * hour },
      onWarning: (message) => this.warnings.push(message),
      ...night.options,
    }).run();
  }

  /** Runs it, and kills it at its third page. */
  async interrupted(night: Night = {}): Promise<void> {
    const onPage = (page: number): void => {
      if (page === 2) throw new Error('killed');
    };
    await expect(this.run({ onPage, ...night })).rejects.toThrow('killed');
  }

  /** The night of each row, in the order of their ids. */
  async rows(): Promise<string> {
    const found = await this.#database.query(`SELECT night FROM "${this.#name}" ORDER BY CAST(id AS integer), night`);
    return found.map(({ night }) => night).join('');
  }

  #source({ onPage, ids = [1, 2, 3, 4, 5, 6], isIncomplete, total, bounds }: Night): Source<Row> {
    const { hours } = this;
    const { pageSize = 2, maxRows } = bounds ?? {};
    return createSource<Row>({
      name: 'items',
      identity: { pageSize },
      maxRows,
      schema: { columns: ['id', 'night'], types: { id: 'integer' }, key: ({ id }) => id },
      async fetch({ at }) {
        const [page, of] = at && 'cursor' in at ? at.cursor.split(' ').map(Number) : [0];
        await onPage?.(page ?? 0, of);
        const first = (page ?? 0) * pageSize;
        const rows = ids.slice(first, first + pageSize).map((id) => ({ id, night: String(hours) }));
        const isLast = first + pageSize >= ids.length;
        const next = isLast ? ('end' as const) : { cursor: `${(page ?? 0) + 1} ${hours}` };
        return { rows, next, ...(isIncomplete && { isIncomplete }), ...(total !== undefined && { total }) };
      },
    });
  }
}

/** The sink, whose export is killed before it can be marked as finished. */
function killedAtEnd(sink: Sink<Row>, { isPublished = false }: Night): Sink<Row> {
  return {
    ...sink,
    async open(context) {
      const writer = await sink.open(context);
      const close = async (): Promise<never> => {
        if (isPublished) await writer.close();
        throw new Error('killed');
      };
      const { start = null } = writer;
      const { write, flush, seal, abort } = writer;
      return {
        start,
        close,
        write: write.bind(writer),
        flush: flush.bind(writer),
        seal: seal.bind(writer),
        abort: abort.bind(writer),
      };
    },
  };
}

const refusal = (): Error => new PaginationError('cursor-refused', 'The cursor expired.');
/** Refuses the cursors of earlier nights than this hour. */
const refusing =
  (error: () => Error, before = Infinity) =>
  (_page: number, cursorOf = Infinity): void => {
    if (cursorOf < before) throw error();
  };

describe.each(databaseKinds)('every night into a table of $name,', ({ open, name: kind }) => {
  /** One table for each mode. */
  const each = async (check: (nights: Nights, mode: TableMode) => Promise<void>, of = modes): Promise<void> => {
    const database = await open();
    for (const mode of of) await check(new Nights(database, mode), mode);
  };
  const refreshed = modes.filter(isRefreshed);

  test('D2 a finished merge or replace begins a new run, and a finished fail or append is complete', async () => {
    await each(async (nights, mode) => {
      for (const night of [0, 1, 2]) {
        nights.hours = night;
        const { finishedAt } = await nights.run();
        expect({ mode, isFinished: finishedAt !== undefined }).toEqual({
          mode,
          isFinished: night > 0 && !isRefreshed(mode),
        });
      }
      expect(await nights.rows()).toBe(isRefreshed(mode) ? '222222' : '000000');
      expect(nights.warnings).toEqual([]);
    });
  });

  test('D2 an interrupted run is resumed within half a day, in each mode, and says how old its rows are', async () => {
    await each(async (nights) => {
      await nights.interrupted();
      nights.hours = 12;
      const oldRows = { rows: 4, since: '2030-01-01T00:00:00.000Z' };
      expect(await nights.run()).toMatchObject({ rows: 6, resumedRows: 4, oldRows });
      expect(await nights.rows()).toBe('00001212');
      expect(nights.warnings).toEqual([
        expect.stringMatching(/goes on with 4 rows that an interrupted run has read since 2030-01-01T00:00/),
      ]);
    });
  });

  test.each([13, 24])('D2 one whose last commit is %i hours old is begun again, in each mode', async (hours) => {
    await each(async (nights) => {
      await nights.interrupted();
      nights.hours = hours;
      const report = await nights.run();
      expect(report).toMatchObject({ rows: 6, resumedRows: 0 });
      expect(report).not.toHaveProperty('oldRows');
      expect(await nights.rows()).toBe(String(hours).repeat(6));
      expect(nights.warnings).toEqual([
        expect.stringMatching(
          /The last commit of the interrupted run \(2030-01-01T00:00.*too old to resume after\. Its 4 rows are exported again/,
        ),
      ]);
    });
  });

  test('D2 a run of half a day that is killed is resumed at once, says nothing, and its replace removes rows', async () => {
    const nights = new Nights(await open(), 'replace');
    await nights.run({ ids: [1, 2, 3, 4, 5, 6, 7] });
    nights.hours = 24;
    const onPage = (page: number): void => {
      nights.hours = 24 + page * 10;
      if (page === 2) throw new Error('killed');
    };
    await nights.interrupted({ onPage });
    nights.hours = 34.1;
    const report = await nights.run();
    expect(report).toMatchObject({ resumedRows: 4, changes: { removed: 1 } });
    expect(report).not.toHaveProperty('oldRows');
    expect(nights.warnings).toEqual([]);
  });

  test('D2 a clock that was set back makes no run too old, and no age negative', async () => {
    await each(async (nights) => {
      nights.hours = 48;
      await nights.interrupted();
      nights.hours = 0;
      expect(await nights.run()).toMatchObject({ rows: 6, resumedRows: 4 });
      expect(nights.warnings).toEqual([]);
    });
  });

  test.each([
    ['24 hours later', [24]],
    ['10 hours later, twice', [10, 20]],
  ])('D3 replace removes no row on the word of rows that were read in another night, %s', async (_, resumedAt) => {
    const nights = new Nights(await open(), 'replace');
    await nights.run({ ids: [1, 2, 3, 4, 5, 6, 7] });
    const options = { resumeWithin: Infinity };
    // At the third page, and in each later run, too.
    await nights.interrupted({ ids: [1, 2, 3, 4, 5, 6, 8] });
    const [last = 0, ...others] = [...resumedAt].reverse();
    for (const hours of others.reverse()) {
      nights.hours = hours;
      await nights.interrupted({ ids: [1, 2, 3, 4, 5, 6, 8], options });
    }
    nights.hours = last;
    // Row 7 has moved to a page that was read.
    const ids = [7, 1, 3, 4, 5, 6, 8];
    const report = await nights.run({ ids, options });
    expect(report).toMatchObject({ resumedRows: 4, rowsNotRemoved: 1, oldRows: { rows: 4, removesNone: true } });
    expect(await nights.rows()).toBe(`0000${last}${last}0${last}`);
    // After the next complete walk, what is not listed goes.
    expect(await nights.run({ ids })).toMatchObject({ changes: { removed: 1 } });
  });

  test('D3 without key columns such a run leaves the table as it was, and says what to do', async () => {
    const nights = new Nights(await open(), 'replace');
    await nights.run({ isKeyless: true });
    await nights.interrupted({ isKeyless: true });
    nights.hours = 24;
    await expect(nights.run({ isKeyless: true, options: { resumeWithin: Infinity } })).rejects.toThrow(
      'rows that an interrupted run has read since 2030-01-01T00:00:00.000Z, and what moved since may be in neither half, so no row of replace may be removed',
    );
    expect(await nights.rows()).toBe('000000');
    expect(await nights.run({ isKeyless: true })).toMatchObject({ resumedRows: 0 });
  });

  test('D2 rows that are in an appended table, though its run is not marked as finished, are not appended again', async () => {
    const nights = new Nights(await open(), 'append');
    await expect(nights.run({ isKilledAtEnd: true, isPublished: true })).rejects.toThrow('killed');
    nights.hours = 48;
    expect(await nights.run()).toMatchObject({ rows: 6 });
    expect(await nights.rows()).toBe('000000');
  });

  test.each([
    ['0', 0, 1, 0],
    ['an hour', hour, 2, 0],
    ['a week', 168 * hour, 160, 4],
    ['Infinity', Infinity, 9_999, 4],
  ])('D2 resumeWithin may be %s', async (_, resumeWithin, hours, resumedRows) => {
    await each(async (nights) => {
      await nights.interrupted();
      nights.hours = hours;
      expect(await nights.run({ options: { resumeWithin } })).toMatchObject({ resumedRows });
    });
  });

  test('D2 what was done last counts, so an export of more than half a day is finished in several runs', async () => {
    await each(async (nights) => {
      const killedAt = (last: number): Night => ({
        onPage: (page) => {
          if (page === last) throw new Error('killed');
        },
      });
      for (const [night, page] of [1, 2].entries()) {
        nights.hours = night * 11;
        await nights.interrupted(killedAt(page));
      }
      nights.hours = 22;
      expect(await nights.run()).toMatchObject({ rows: 6, resumedRows: 4 });
    }, refreshed);
  });

  test('D2 a run without a single commit of rows is no obstacle, of whichever age', async () => {
    await each(async (nights, mode) => {
      for (const hours of [0, 1, 30]) {
        nights.hours = hours;
        const onPage = (): never => {
          throw new Error('killed');
        };
        await nights.interrupted({ onPage });
      }
      nights.hours = 31;
      await nights.run();
      expect(await nights.rows(), mode).toBe('31'.repeat(6));
    });
  });

  test('D2 an old run of another plan is begun again, and a young one is refused', async () => {
    await each(async (nights) => {
      await nights.interrupted();
      nights.hours = 1;
      await expect(nights.run({ bounds: { pageSize: 3 } })).rejects.toThrow('different settings');
      nights.hours = 30;
      expect(await nights.run({ bounds: { pageSize: 3 } })).toMatchObject({ rows: 6, resumedRows: 0 });
    }, refreshed);
  });

  test.each([
    ['its cursor is refused', refusal],
    [
      'the API refuses its first request with 400',
      (): Error => new HttpError('Invalid cursor.', { status: 400, excerpt: '' }),
    ],
    ['its rows moved', () => new PaginationError('rows-moved', 'The rows moved.')],
    ['its page is repeated', () => new PaginationError('no-progress', 'The page was there before.')],
  ])('D2 an interrupted run is begun again at once if %s, in merge and replace', async (_, error) => {
    await each(async (nights, mode) => {
      await nights.interrupted();
      nights.hours = 5;
      const outcome = nights.run({ onPage: refusing(error, 5) });
      if (!isRefreshed(mode)) return expect(outcome).rejects.toThrow(error().message);
      expect(await outcome).toMatchObject({ rows: 6, resumedRows: 0 });
      expect(await nights.rows()).toBe('555555');
      expect(nights.warnings).toEqual([expect.stringMatching(/can't be resumed\. Its 4 rows are exported again/)]);
      nights.hours = 6;
      await nights.run();
      expect(await nights.rows()).toBe('666666');
    });
  });

  test.each([
    ['is away', 503, {}],
    ['refuses the key', 401, {}],
    ['forbids the request', 403, {}],
    ['refuses the key in its own way', 400, { means: 'renew' }],
  ])('D2 an interrupted run is kept while the API %s', async (_, status, details) => {
    await each(async (nights) => {
      await nights.interrupted();
      nights.hours = 1;
      const refused = new HttpError(`Status ${status}.`, { status, excerpt: '', details });
      await expect(nights.run({ onPage: refusing(() => refused) })).rejects.toThrow(refused.message);
      expect(nights.warnings).toEqual([]);
      nights.hours = 2;
      expect(await nights.run()).toMatchObject({ rows: 6, resumedRows: 4 });
    }, refreshed);
  });

  test('D2 it is begun again once: a run that is refused from the start ends, and so does each night', async () => {
    await each(async (nights) => {
      for (const night of [0, 1, 2]) {
        nights.hours = night;
        let first = 0;
        const onPage = (page: number, cursorOf?: number): void => {
          if (page === 0) first += 1;
          refusing(refusal)(page, cursorOf);
        };
        await expect(nights.run({ onPage })).rejects.toThrow('expired');
        expect(first).toBe(1);
      }
    }, refreshed);
  });

  test('D2 one that was short of the total is begun again by the next night, and not completed again', async () => {
    await each(async (nights) => {
      const options = { requireTotal: true };
      await expect(nights.run({ total: 8, options })).rejects.toThrow('total of rows is 8, but it listed 6');
      nights.hours = 1;
      await expect(nights.run({ total: 7, options })).rejects.toThrow('total of rows is 7, but it listed 6');
      nights.hours = 2;
      expect(await nights.run({ total: 6, options })).toMatchObject({ rows: 6, resumedRows: 0 });
      expect(await nights.rows()).toBe('222222');
    }, refreshed);
  });

  test('D2 one whose rows the table refused is begun again by the next night, or completed once the table is mended', async () => {
    const database = await open();
    for (const mode of refreshed) {
      const nights = new Nights(database, mode);
      await nights.run({ ids: [1] });
      await database.query(`CREATE UNIQUE INDEX "${mode}_night" ON "${mode}" (night)`);
      nights.hours = 1;
      await expect(nights.run()).rejects.toThrow(/unique/i);
      nights.hours = 2;
      expect(await nights.run({ ids: [1] })).toMatchObject({ rows: 1, resumedRows: 0 });
      expect(await nights.rows()).toBe('2');
      nights.hours = 3;
      await expect(nights.run()).rejects.toThrow(/unique/i);
      await database.query(`DROP INDEX "${mode}_night"`);
      nights.hours = 4;
      expect(await nights.run()).toMatchObject({ rows: 6, resumedRows: 6 });
      expect(await nights.rows()).toBe('333333');
    }
  });

  test('D2 one whose COMMIT the table refused is begun again by the next night', async () => {
    const database = await open();
    await database.query('CREATE TABLE nights (night text PRIMARY KEY)');
    await database.query("INSERT INTO nights VALUES ('0'), ('2')");
    for (const mode of refreshed) {
      const night = 'night text REFERENCES nights DEFERRABLE INITIALLY DEFERRED';
      await database.query(`CREATE TABLE "${mode}" (id text PRIMARY KEY, ${night})`);
      const nights = new Nights(database, mode);
      await nights.run();
      nights.hours = 1;
      await expect(nights.run()).rejects.toThrow(/foreign key/i);
      nights.hours = 2;
      expect(await nights.run()).toMatchObject({ rows: 6, resumedRows: 0 });
      expect(await nights.rows()).toBe('222222');
    }
  });

  test('D2 one whose sink can not be opened is resumed once it can be', async () => {
    await each(async (nights) => {
      await nights.interrupted();
      nights.hours = 1;
      await expect(nights.run({ isUnreachable: true })).rejects.toThrow('away');
      expect(nights.warnings).toEqual([]);
      expect(await nights.run()).toMatchObject({ rows: 6, resumedRows: 4 });
    }, refreshed);
  });

  test.each(['DROP TABLE', 'DELETE FROM'])('D2 it is begun again after a %s of its staging table', async (spoil) => {
    const database = await open();
    for (const mode of refreshed) {
      const nights = new Nights(database, mode);
      await nights.interrupted();
      const tables =
        kind === 'SQLite'
          ? "SELECT name FROM sqlite_schema WHERE type = 'table'"
          : "SELECT tablename AS name FROM pg_tables WHERE schemaname = 'public'";
      for (const { name } of await database.query(tables))
        if (name?.startsWith('_sluice_')) await database.query(`${spoil} "${name}"`);
      nights.hours = 1;
      expect(await nights.run()).toMatchObject({ rows: 6, resumedRows: 0 });
      expect(await nights.rows()).toBe('111111');
    }
  });

  test('D2 a run that another one took over ends, and does not begin again by itself', async () => {
    const database = await open();
    for (const mode of modes) {
      const nights = new Nights(database, mode);
      await nights.interrupted();
      nights.hours = 1;
      let pages = 0;
      const onPage = async (): Promise<void> => {
        pages += 1;
        await database.query(`UPDATE _sluice SET record = '"another run"' WHERE target LIKE '%${mode}' AND name = ''`);
        throw refusal();
      };
      const ended = await nights.run({ onPage }).catch((error: unknown) => error);
      expect({ mode, code: SluiceError.is(ended) && ended.code, pages }).toEqual({
        mode,
        pages: 1,
        code: isRefreshed(mode) ? 'lock' : 'cursor-refused',
      });
      await expect(nights.rows()).rejects.toThrow();
    }
  });

  test('D3 replace removes nothing if the walk was incomplete, and says how many rows stay', async () => {
    const database = await open();
    const nights = new Nights(database, 'replace');
    await nights.run();
    nights.hours = 1;
    const incomplete: readonly Night[] = [
      { ids: [1, 2, 7], isIncomplete: true },
      { ids: [1, 2, 7, 3, 4], bounds: { maxRows: 3 } },
    ];
    for (const night of incomplete) {
      expect(await nights.run(night)).toMatchObject({ rows: 3, rowsNotRemoved: 4 });
      expect(await nights.rows()).toBe('1100001');
    }
    expect(await nights.run({ ids: [1, 7] })).not.toHaveProperty('rowsNotRemoved');
    expect(await nights.rows()).toBe('11');
  });

  test.each([
    ['with a key', false],
    ['without one', true],
  ])(
    'D3 %s replace removes no row if the API counts more than it lists, unless that is allowed',
    async (_, isKeyless) => {
      const nights = new Nights(await open(), 'replace');
      await nights.run({ isKeyless });
      nights.hours = 1;
      const short: Night = { ids: [1, 7, 8], total: 6, isKeyless };
      const end = nights.run(short);
      if (!isKeyless) expect(await end).toMatchObject({ rowsNotRemoved: 5, shortOfTotal: { total: 6, listed: 3 } });
      else
        await expect(end).rejects.toThrow(
          "no row of replace may be removed: the API's total of rows is 6, but it listed 3. Without key columns no row can be told from a new one, so nothing was changed. Name the columns that identify a row, as key, or if the total counts something else, say so with requireTotal: false.",
        );
      expect(nights.warnings).toEqual([expect.stringContaining('total of rows is 6, but it listed 3')]);
      await expect(nights.run({ ...short, options: { requireTotal: true } })).rejects.toMatchObject({
        code: 'rows-missing',
      });
      expect(await nights.rows()).toBe(isKeyless ? '000000' : '10000011');
      const report = await nights.run({ ...short, options: { requireTotal: false } });
      expect(report).toMatchObject({ rows: 3, shortOfTotal: { total: 6, listed: 3 } });
      expect(report).not.toHaveProperty('rowsNotRemoved');
      expect(await nights.rows()).toBe('111');
      // What else makes a walk incomplete counts all the same.
      const incomplete = nights.run({
        ids: [1],
        isIncomplete: true,
        total: 6,
        isKeyless,
        options: { requireTotal: false },
      });
      if (!isKeyless) expect(await incomplete).toMatchObject({ rowsNotRemoved: 2 });
      else await expect(incomplete).rejects.toThrow('a part was skipped');
    },
  );

  test.each([
    ['at once', false],
    ['after an interruption between the rows that come again', true],
  ])('D3 replace removes no row if rows come again in place of others, %s', async (_, isInterrupted) => {
    const nights = new Nights(await open(), 'replace');
    await nights.run();
    nights.hours = 1;
    const short: Night = { ids: [1, 2, 1, 3, 2, 4], total: 6 };
    if (isInterrupted) await nights.interrupted(short);
    expect(await nights.run(short)).toMatchObject({
      rows: 6,
      repeatedRows: 2,
      rowsNotRemoved: 2,
      shortOfTotal: { total: 6, listed: 4 },
    });
    expect(await nights.rows()).toBe('111100');
    // All that it counts are there, and two of them twice.
    expect(await nights.run({ ...short, total: 4 })).not.toHaveProperty('rowsNotRemoved');
    expect(await nights.rows()).toBe('1111');
    const over = await nights.run({ ids: [1, 2, 9], total: 2 });
    expect(over).toMatchObject({ rowsNotRemoved: 2, overTotal: { total: 2, listed: 3 } });
    await expect(nights.run({ ...short, options: { requireTotal: true } })).rejects.toMatchObject({
      code: 'rows-missing',
    });
  });

  test('D3 replace removes no row if rows come again and no total says that none is missing', async () => {
    const nights = new Nights(await open(), 'replace');
    await nights.run();
    nights.hours = 1;
    const again: Night = { ids: [1, 2, 1, 3, 2, 4] };
    await nights.interrupted(again);
    expect(await nights.run(again)).toMatchObject({ rows: 6, repeatedRows: 2, rowsNotRemoved: 2 });
    expect(await nights.rows()).toBe('111100');
    const keyless = nights.run({ ...again, isKeyless: true });
    await expect(keyless).rejects.toThrow('the API listed 2 rows again, maybe in place of others, and states no total');
    expect(await nights.rows()).toBe('111100');
    const allowed = await nights.run({ ...again, options: { requireTotal: false } });
    expect(allowed).not.toHaveProperty('rowsNotRemoved');
    expect(await nights.rows()).toBe('1111');
  });

  test.each(['fail', 'append'] as const)(
    'D2 rows that come again are dropped from mode %s, also after an interruption',
    async (mode) => {
      const nights = new Nights(await open(), mode);
      const repeated: Night = { ids: [1, 2, 1, 3, 2, 4], total: 4, options: { repeats: 'drop', requireTotal: true } };
      await nights.interrupted(repeated);
      expect(await nights.run(repeated)).toMatchObject({ rows: 4, repeatedRows: 2 });
      expect(await nights.rows()).toBe('0000');
      // It is complete, and says the same again.
      expect(await nights.run(repeated)).toMatchObject({ rows: 4, repeatedRows: 2 });
    },
  );

  test('D3 the total is named after an interruption of the last step, too', async () => {
    const nights = new Nights(await open(), 'replace');
    await nights.run({ isKeyless: true });
    const end = nights.run({ ids: [1], total: 6, isKeyless: true, isKilledAtEnd: true });
    await expect(end).rejects.toThrow('killed');
    const named = "the API's total of rows is 6, but it listed 1";
    await expect(nights.run({ ids: [1], total: 6, isKeyless: true })).rejects.toThrow(named);
    expect(nights.warnings).toContainEqual(expect.stringContaining(named));
    expect(await nights.rows()).toBe('000000');
  });

  test('D3 without key columns a walk that ended at maxRows leaves a table with rows as it was, and says what to do', async () => {
    const nights = new Nights(await open(), 'replace');
    const night: Night = { ids: [1, 2, 3], bounds: { maxRows: 2 }, isKeyless: true };
    await nights.run(night);
    await expect(nights.run(night)).rejects.toThrow(
      'the limit in maxRows was reached. Without key columns no row can be told from a new one, so nothing was changed. Name the columns that identify a row, as key.',
    );
    expect(await nights.rows()).toBe('00');
  });

  test('D3 it knows so after an interruption, too, also of its last step', async () => {
    const nights = new Nights(await open(), 'replace');
    await nights.run({ ids: [1, 2, 3, 4, 5, 6, 7] });
    nights.hours = 1;
    await nights.interrupted({ isIncomplete: true });
    expect(await nights.run()).toMatchObject({ isIncomplete: true, rowsNotRemoved: 1 });
    expect(await nights.rows()).toBe('1111110');
    nights.hours = 2;
    await expect(nights.run({ isIncomplete: true, isKilledAtEnd: true })).rejects.toThrow('killed');
    expect(await nights.run()).toMatchObject({ resumedRows: 6, rowsNotRemoved: 1 });
    expect(await nights.rows()).toBe('2222220');
  });

  test('D2 a run that was killed when its rows were in the table is finished', async () => {
    await each(async (nights) => {
      await expect(nights.run({ isKilledAtEnd: true, isPublished: true })).rejects.toThrow('killed');
      expect(await nights.rows()).toBe('000000');
      nights.hours = 1;
      expect(await nights.run()).toMatchObject({ rows: 6, resumedRows: 0 });
      expect(await nights.rows()).toBe('111111');
    }, refreshed);
  });

  test('D3 without key columns an incomplete walk leaves a table with rows as it was, and fails', async () => {
    const database = await open();
    const nights = new Nights(database, 'replace', 'keyless');
    const table: TableOptions = { table: 'keyless', mode: 'replace' };
    const keyless = database.sink<Row>(table);
    const exported = (rows: readonly Row[], isIncomplete: boolean) =>
      exportTo(
        createSource<Row>({
          name: 'items',
          identity: null,
          schema: { columns: ['id', 'night'], key: ({ id }: Row) => id },
          fetch: () => Promise.resolve({ rows, next: 'end', ...(isIncomplete && { isIncomplete: true as const }) }),
        }),
        keyless,
      ).run();
    const rows = [1, 2].map((id) => ({ id, night: '0' }));
    await exported(rows, true);
    await expect(exported([{ id: 3, night: '1' }], true)).rejects.toThrow(
      'The walk was incomplete, so no row of keyless may be removed',
    );
    expect(await nights.rows()).toBe('00');
    await exported([{ id: 3, night: '1' }], false);
    expect(await nights.rows()).toBe('1');
  });
});
