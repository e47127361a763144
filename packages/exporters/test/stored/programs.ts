import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import {
  exportTo,
  SluiceError,
  watch,
  type Change,
  type Clock,
  type ExportOptions,
  type ExportReport,
  type Sink,
  type Source,
  type StateStore,
} from '@sluice/core';
import { fileState } from '@sluice/core/node';
import { startReceiver, type ReceiverAnswer } from '@sluice/sandbox';
import { onTestEnd } from '../../../../scripts/testScope.js';
import { csv } from '../../src/csv.js';
import { jsonl } from '../../src/jsonl.js';
import { parquet } from '../../src/parquet.js';
import { sqlite, sqliteMirror } from '../../../tables/src/sqlite.js';
import { replay, webhook } from '../../src/webhook.js';
import { readParquet } from '../readParquet.js';
import { sqliteAt } from '../../../tables/test/databases.js';
import { openStored, type Round } from './storedApi.js';

/** When a run is cut off: after so many saved checkpoints, or after the one that is sealed. `never`: it ends by itself. */
export type Cut = number | 'sealed' | 'never';

type Api = Awaited<ReturnType<typeof openStored>>;

/** What a run did. */
export interface Outcome {
  /** Absent if it was cut off. */
  readonly report?: ExportReport;
  /** Its requests, in order. */
  readonly asked: readonly string[];
  /** Of its last commit. */
  readonly committed: { readonly rows: number; readonly pages: number };
  /** The bodies that a receiver got, by the ids of their records. */
  readonly sent: Readonly<Record<string, string>>;
}

/** An export that leaves state, with the same settings in each version. */
export interface Program {
  /** Where the run is cut off whose state is stored. */
  readonly cuts: Readonly<Record<string, Cut>>;
  /** A run of the first round precedes it. Where no run is cut off, the state of that one is stored. */
  readonly isSecond?: true;
  /** Each run requests all pages. */
  readonly isWatch?: true;
  readonly run: (place: Place, round: Round) => Promise<ExportReport | undefined>;
  /** What is in the target, without ids that each run draws. */
  readonly read: (folder: string) => unknown;
}

/** What a run of a program uses. */
class Place {
  readonly folder: string;
  readonly sources: Api['sources'];
  readonly sent = new Map<string, string>();
  readonly state: StateStore;
  committed = { rows: 0, pages: 0 };
  isCutOff = false;
  readonly #clock: Clock;
  readonly #cut: Cut;
  #saved = 0;

  constructor(folder: string, { sources, clock }: Api, cut: Cut) {
    this.folder = folder;
    this.sources = sources;
    this.#clock = clock;
    this.#cut = cut;
    this.state = this.cutOff(fileState(this.path('state')));
  }

  path(name: string): string {
    return join(this.folder, name);
  }

  /** The run is cut off before all rows are written. */
  get isBegun(): boolean {
    return typeof this.#cut === 'number';
  }

  /** State that the run changes no more once it is cut off. */
  cutOff(state: StateStore): StateStore {
    const change = (cut: boolean): void => {
      this.isCutOff ||= cut;
      if (this.isCutOff) throw new Error('cut off');
    };
    return {
      folder: state.folder,
      lock: (...use) => state.lock(...use),
      load: (name) => state.load(name),
      log: (name) => state.log(name),
      remove: async (name) => {
        change(false);
        await state.remove(name);
      },
      save: async (name, record) => {
        change(name === 'checkpoint' && this.#saved === this.#cut);
        await state.save(name, record);
        if (name === 'checkpoint') this.#saved += 1;
        change(this.#cut === 'sealed' && 'isSealed' in record);
      },
    };
  }

  /** Exports to a target that has the same name in each folder. */
  export<T>(source: Source<T>, sink: Sink<T>, options: ExportOptions = {}): Promise<ExportReport> {
    return exportTo(
      source,
      { ...sink, target: 'target' },
      {
        ...(!sink.state && { state: this.state }),
        ...(this.#cut !== 'never' && { commitEvery: 1 }),
        prefetch: 0,
        clock: this.#clock,
        onCommitted: (checkpoint) => {
          if (checkpoint) this.committed = { rows: checkpoint.rows, pages: checkpoint.pages };
        },
        ...options,
      },
    ).run();
  }

  /** Exports the changes of one poll. */
  watch<T>(source: Source<T>, sink: Sink<Change<T>>): Promise<ExportReport> {
    const { state = this.state } = sink;
    const options = { every: 1_000, polls: 1, confirmations: 1, acceptRemovals: true, clock: this.#clock, state };
    return this.export(watch(source, options), sink);
  }

  /** A sink that keeps its own state, which is cut off, too. */
  table<T>(sink: Sink<T> & { readonly state: StateStore }): Sink<T> {
    return { ...sink, state: this.cutOff(sink.state) };
  }

  /** The URL of a receiver. */
  async receive(answer: (body: string) => ReceiverAnswer): Promise<string> {
    const receiver = await startReceiver({
      script: ({ id, body }) => {
        this.sent.set(id, body);
        return answer(body);
      },
    });
    onTestEnd(() => receiver.close());
    return receiver.url;
  }
}

/** Runs a program in a folder, from the state that is there. */
export async function play(program: Program, folder: string, round: Round, cut: Cut = 'never'): Promise<Outcome> {
  const api = await openStored(round);
  const place = new Place(folder, api, cut);
  let report: ExportReport | undefined;
  try {
    report = await program.run(place, round);
  } catch (error) {
    const isRefused = place.isBegun && SluiceError.is(error, 'http');
    if (!place.isCutOff && !isRefused) throw error;
  }
  const { committed, sent } = place;
  return { ...(report && { report }), asked: api.asked, committed, sent: Object.fromEntries(sent) };
}

const text = (name: string) => (folder: string) => readFileSync(join(folder, name), 'utf8');
const unzipped = (name: string) => (folder: string) => gunzipSync(readFileSync(join(folder, name))).toString();
const inTable = (columns: string) => (folder: string) =>
  sqliteAt(join(folder, 'rows.sqlite')).query(`SELECT ${columns} FROM rows ORDER BY ${columns}`);

const delivery = {
  secret: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw',
  allowAddresses: ['127.0.0.1'],
  retry: { retries: 0 },
  // One after another, so that a run sends the same ones each time.
  deliveries: 1,
} as const;

/** The URL of a receiver is a part of the sink's identity, and its port differs. */
const anyPort = { identity: 'a receiver' };

/** By the kind of state that they leave. */
export const programs: Readonly<Record<string, Program>> = {
  cursor: {
    cuts: { begun: 4, sealed: 'sealed', finished: 'never' },
    run: (at) => at.export(at.sources.cursors(), csv({ path: at.path('rows.csv') }), { requireTotal: true }),
    read: text('rows.csv'),
  },
  pages: {
    cuts: { begun: 4, sealed: 'sealed' },
    run: (at) => at.export(at.sources.pages(), jsonl({ path: at.path('rows.jsonl.gz') })),
    read: unzipped('rows.jsonl.gz'),
  },
  offset: {
    cuts: { begun: 4 },
    run: (at) => at.export(at.sources.offsets(), csv({ path: at.path('rows.csv.gz') })),
    read: unzipped('rows.csv.gz'),
  },
  link: {
    cuts: { begun: 4 },
    run: (at) => at.export(at.sources.links(), jsonl({ path: at.path('rows.jsonl') })),
    read: text('rows.jsonl'),
  },
  'repeated rows': {
    cuts: { begun: 4, sealed: 'sealed' },
    run: (at) => at.export(at.sources.repeated(), csv({ path: at.path('rows.csv') }), { repeats: 'drop' }),
    read: text('rows.csv'),
  },
  'appended file': {
    cuts: { begun: 4, sealed: 'sealed' },
    run: (at) => {
      const path = at.path('rows.csv');
      if (!existsSync(path)) writeFileSync(path, 'id\r\n100\r\n');
      return at.export(at.sources.cursors(), csv({ path, ifExists: 'append' }));
    },
    read: text('rows.csv'),
  },
  partitions: {
    cuts: { begun: 6, sealed: 'sealed' },
    run: (at) => at.export(at.sources.wallets({}), csv({ path: at.path('rows.csv') }), { concurrency: 2 }),
    read: text('rows.csv'),
  },
  'fitted partitions': {
    cuts: { begun: 5 },
    run: (at) =>
      at.export(at.sources.fitted({}), jsonl({ path: at.path('rows.jsonl') }), {
        concurrency: existsSync(at.path('state')) ? 3 : 2,
      }),
    read: text('rows.jsonl'),
  },
  parquet: {
    cuts: { begun: 6, sealed: 'sealed' },
    run: (at) => at.export(at.sources.wallets({}), parquet({ path: at.path('rows.parquet') }), { concurrency: 2 }),
    read: (folder) => readParquet(join(folder, 'rows.parquet')),
  },
  parents: {
    cuts: { begun: 6, sealed: 'sealed' },
    run: (at) => at.export(at.sources.children(), jsonl({ path: at.path('rows.jsonl') }), { concurrency: 2 }),
    read: text('rows.jsonl'),
  },
  'repeated rows of parents': {
    cuts: { begun: 5 },
    run: (at) => at.export(at.sources.children(), csv({ path: at.path('rows.csv') }), { repeats: 'drop' }),
    read: text('rows.csv'),
  },
  'parents of parents': {
    cuts: { begun: 8, sealed: 'sealed' },
    run: (at) => at.export(at.sources.grandchildren(), csv({ path: at.path('rows.csv') })),
    read: text('rows.csv'),
  },
  increment: {
    cuts: { begun: 3, sealed: 'sealed', finished: 'never' },
    isSecond: true,
    run: (at, round) =>
      at.export(at.sources.changes(), csv({ path: at.path(`rows-${round}.csv`) }), { incremental: true }),
    read: text('rows-2.csv'),
  },
  'windows of an increment': {
    cuts: { begun: 4, sealed: 'sealed', finished: 'never' },
    isSecond: true,
    run: (at, round) =>
      at.export(at.sources.windows(), csv({ path: at.path(`rows-${round}.csv`) }), { incremental: true }),
    read: text('rows-2.csv'),
  },
  'increment of parents': {
    cuts: { begun: 6, sealed: 'sealed', finished: 'never' },
    isSecond: true,
    run: (at, round) =>
      at.export(at.sources.childChanges(), jsonl({ path: at.path(`rows-${round}.jsonl`) }), {
        incremental: true,
        concurrency: 2,
      }),
    read: text('rows-2.jsonl'),
  },
  'watched file': {
    cuts: { begun: 0, finished: 'never' },
    isSecond: true,
    isWatch: true,
    run: (at) => at.watch(at.sources.states(), jsonl({ path: at.path('changes.jsonl') })),
    read: (folder) => text('changes.jsonl')(folder).replaceAll(/"id":"[^"]+",/g, ''),
  },
  'forwarded rows': {
    cuts: { begun: 99, sealed: 'sealed' },
    run: async (at) => {
      const url = await at.receive((body) => {
        if (body.includes('{"id":2}')) return { status: 422 };
        return at.isBegun && body.includes('{"id":4}') ? { status: 503 } : 'ok';
      });
      const sink = webhook({ ...delivery, url, deadLetter: at.path('dead.jsonl') });
      return at.export(at.sources.cursors(), { ...sink, ...anyPort });
    },
    read: (folder) => [...text('dead.jsonl')(folder).matchAll(/"data":\{.*?\}/g)].map(String),
  },
  'forwarded changes': {
    cuts: { begun: 99, finished: 'never' },
    isSecond: true,
    isWatch: true,
    run: async (at) => {
      const url = await at.receive((body) => (at.isBegun && body.includes('"removed"') ? { status: 503 } : 'ok'));
      return at.watch(at.sources.states(), { ...webhook({ ...delivery, url }), ...anyPort });
    },
    read: () => undefined,
  },
  'dead letters': {
    cuts: { begun: 99 },
    run: async (at) => {
      const deadLetter = at.path('dead.jsonl');
      if (!existsSync(deadLetter)) {
        const url = await at.receive(() => ({ status: 422 }));
        await exportTo(
          at.sources.cursors(),
          webhook({ ...delivery, url, deadLetter, onDeadLetter: () => undefined }),
        ).run();
        at.sent.clear();
      }
      const url = await at.receive((body) => (at.isBegun && body.includes('{"id":4}') ? { status: 503 } : 'ok'));
      await replay(deadLetter, { ...delivery, url });
      return undefined;
    },
    read: (folder) => existsSync(join(folder, 'dead.jsonl')),
  },
  'merged table': {
    cuts: { begun: 3, sealed: 'sealed', finished: 'never' },
    isSecond: true,
    run: (at) => {
      const sink = at.table(sqlite({ path: at.path('rows.sqlite'), table: 'rows', mode: 'merge', key: ['id'] }));
      return at.export(at.sources.changes(), sink, { incremental: true });
    },
    read: inTable('id, at'),
  },
  'replaced table': {
    cuts: { begun: 5, sealed: 'sealed' },
    run: (at) => {
      const sink = at.table(sqlite({ path: at.path('rows.sqlite'), table: 'rows', mode: 'replace' }));
      return at.export(at.sources.wallets({}), sink, { concurrency: 2 });
    },
    read: inTable('owner, id'),
  },
  'history of exports': {
    cuts: { begun: 3, sealed: 'sealed' },
    isSecond: true,
    run: (at) => {
      const sink = at.table(sqlite({ path: at.path('rows.sqlite'), table: 'rows', mode: 'history', key: ['id'] }));
      return at.export(at.sources.states(), sink);
    },
    read: inTable('id, state, _generation, _ended'),
  },
  mirror: {
    cuts: { begun: 0 },
    isSecond: true,
    isWatch: true,
    run: (at) =>
      at.watch(
        at.sources.states(),
        at.table(sqliteMirror({ path: at.path('rows.sqlite'), table: 'rows', key: ['id'] })),
      ),
    read: inTable('id, state'),
  },
  'history of a watch': {
    cuts: { begun: 0 },
    isSecond: true,
    isWatch: true,
    run: (at) =>
      at.watch(
        at.sources.states(),
        at.table(sqliteMirror({ path: at.path('rows.sqlite'), table: 'rows', key: ['id'], mode: 'history' })),
      ),
    read: inTable('id, state, _generation, _ended'),
  },
};
