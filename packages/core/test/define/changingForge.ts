import { onTestEnd } from '../../../../scripts/testScope.js';
import { Random } from '../../../../test/kit/random.js';
import { createClient, type Source } from '../../src/index.js';
import { bySince, byCursor, defineApi, listing, rowOf } from '../../src/define/index.js';
import { ChangingTable, overlap, type Entry } from './changingTable.js';
import { serve, type Said } from './servedApi.js';

/** A row of a table, with the table's name. */
export interface TableEntry extends Entry {
  readonly table: string;
}

/** An API that lists tables, two a page, and the rows of each in the order of their last change. */
export class ChangingForge {
  readonly tables = new Map<string, ChangingTable>();
  readonly #random: Random;
  asked: readonly string[] = [];
  baseUrl = '';
  /** Answers something else. */
  say: (url: URL) => Said | 'cut' | undefined = () => undefined;

  constructor(seed: number) {
    this.#random = new Random(`forge ${String(seed)}`);
  }

  /** Adds a table, with changes. */
  add(name: string, changes = 60): ChangingTable {
    const table = new ChangingTable(() => this.#random.next());
    table.now = this.now;
    this.tables.set(name, table);
    for (let nth = 0; nth < changes; nth += 1) table.change();
    this.advance(0);
    return table;
  }

  /** Its clock, which is that of all tables. */
  get now(): number {
    return Math.max(Date.parse('2026-01-01T00:00:00Z'), ...[...this.tables.values()].map(({ now }) => now));
  }

  advance(ms: number): void {
    const now = this.now + ms;
    for (const table of this.tables.values()) table.now = now;
  }

  /** Makes the last change of each table one by itself. */
  settle(): void {
    this.advance(130_000);
    for (const table of this.tables.values()) {
      table.change();
      this.advance(2_000);
    }
    this.advance(130_000);
  }

  /** Changes some rows of some tables. */
  change(changes: number): void {
    const all = [...this.tables.values()];
    for (let nth = 0; nth < changes; nth += 1) {
      all[this.#random.int(0, all.length - 1)]?.change();
      this.advance(0);
    }
  }

  async listen(): Promise<void> {
    const { baseUrl, asked } = await serve((url) => this.say(url) ?? this.answer(url));
    this.asked = asked;
    this.baseUrl = baseUrl;
  }

  /** What requests can see. */
  get rows(): TableEntry[] {
    return [...this.tables].flatMap(([table, { rows }]) => rows.map((row) => ({ ...row, table })));
  }

  /** The addresses of pages of rows since so many requests. */
  pagesAfter(requests: number): string[] {
    return this.asked.slice(requests).filter((each) => each.startsWith('/tables/'));
  }

  source(options: { readonly isSkipping?: boolean; readonly apiKey?: string } = {}): Source<TableEntry> {
    const { isSkipping = false, apiKey = 'key-of-the-test' } = options;
    const client = createClient({ apiKey, rateLimit: false, retry: { retries: 0 } });
    onTestEnd(() => client.close());
    return client.use(forgeApi(isSkipping)({ baseUrl: this.baseUrl })).forge.entries();
  }

  answer({ pathname, searchParams }: URL): Said {
    const [, name = ''] = /^\/api\/tables\/(\w+)$/.exec(pathname) ?? [];
    if (name !== '') return this.tables.get(name)?.answer(searchParams) ?? { status: 404, body: {} };
    const names = [...this.tables.keys()];
    const from = Number(searchParams.get('after') ?? 0);
    const items = names.slice(from, from + 2).map((each) => ({ name: each }));
    return { body: { items, ...(from + 2 < names.length && { next: String(from + 2) }) } };
  }
}

const tables = listing<{ name: string }>({
  path: '/tables',
  rows: 'items',
  columns: ['name'],
  key: ({ name }) => name,
  paging: byCursor({ param: 'after', at: 'next?' }),
});

/** The API with its sources. */
export const forgeApi = (isSkipping = false) =>
  defineApi({ name: 'forge', sources: { tables, entries: entriesOfEach(isSkipping) } });

function entriesOfEach(isSkipping: boolean) {
  return listing<TableEntry, { table: string }, object>({
    each: rowOf({
      source: 'tables',
      params: ({ name }: { name: string }) => ({ table: name }),
    }),
    fields: { table: '{table}' },
    path: '/tables/{table}',
    ...(isSkipping && { responses: { 404: 'skip', 410: 'skip' } }),
    rows: 'items',
    columns: ['table', 'id', 'text', 'updated_at'],
    version: '1',
    pageSize: { param: 'n', default: 8, max: 8 },
    paging: bySince({ param: 'since', field: 'updated_at', type: 'instant', overlap }),
    key: ({ table, id }) => `${table}/${String(id)}`,
    decode: (row, path, read): TableEntry => {
      const { table, id, text, updated_at: at } = read.record(row, path);
      return { table: String(table), id: Number(id), text: String(text), updated_at: String(at) };
    },
  });
}

/** What somebody keeps who merges by key. */
export function keptOf(...increments: readonly (readonly TableEntry[])[]): TableEntry[] {
  const rows = new Map<string, TableEntry>();
  for (const row of increments.flat()) rows.set(lineOf(row), row);
  return [...rows.values()].sort(byLine);
}

export const byLine = (a: TableEntry, b: TableEntry): number => (lineOf(a) < lineOf(b) ? -1 : 1);

function lineOf({ table, id }: TableEntry): string {
  return `${table}/${String(id)}`;
}
