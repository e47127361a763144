import { onTestEnd } from '../../../../scripts/testScope.js';
import { createClient, type Source } from '../../src/index.js';
import { bySince, defineApi, listing } from '../../src/define/index.js';
import { serve, type Said } from './servedApi.js';

/** A row of the table. */
export interface Entry {
  readonly id: number;
  readonly text: string;
  readonly updated_at: string;
}

interface Stored extends Entry {
  /** When it was written: the order of the table, whatever its text says. */
  readonly at: number;
  /** From when on requests see it. */
  readonly visible: number;
}

export const overlap = 60_000;

/** A table of an API that lists rows in the order of their last change, with a clock of its own. */
export class ChangingTable {
  readonly #random: () => number;
  readonly #rows = new Map<number, Stored>();
  now = Date.parse('2026-01-01T00:00:00Z');
  /** Called before each response. */
  beforeResponse = (): void => undefined;
  /** The `Date` of a response; without one it has that of this machine. */
  dated: (now: number) => number | undefined = (now) => now;
  asked: readonly string[] = [];
  baseUrl = '';

  constructor(random: () => number) {
    this.#random = random;
  }

  async listen(): Promise<void> {
    const { baseUrl, asked } = await serve(({ searchParams }) => this.answer(searchParams));
    this.asked = asked;
    this.baseUrl = baseUrl;
  }

  /** A page of the table. */
  answer(query: URLSearchParams): Said {
    this.beforeResponse();
    const since = Date.parse(query.get('since') ?? '1970-01-01T00:00:00Z');
    const listed = this.#visible.filter(({ at }) => at >= since).slice(0, Number(query.get('n')));
    const body = { items: listed.map(({ id, text, updated_at }) => ({ id, text, updated_at })) };
    const date = this.dated(this.now);
    return { body, ...(date !== undefined && { headers: { date: new Date(date).toUTCString() } }) };
  }

  /** What requests can see. */
  get rows(): Entry[] {
    return this.#visible.map(({ id, text, updated_at }) => ({ id, text, updated_at })).sort((a, b) => a.id - b.id);
  }

  /** Adds or changes a row; some are seen only later, as those of a long transaction. */
  change(): void {
    this.now += Math.floor(this.#random() * 700);
    const id = Math.floor(this.#random() * 60);
    const isLate = this.#random() < 0.2;
    this.#rows.set(id, {
      id,
      text: `text ${String(Math.floor(this.#random() * 1e9))}`,
      at: this.now,
      visible: isLate ? this.now + Math.floor(this.#random() * (overlap - 2_000)) : this.now,
      updated_at: written(this.now, this.#random()),
    });
  }

  /** Makes the last change one by itself: those of the overlap before it are requested again each time. */
  settle(): void {
    this.now += 130_000;
    this.change();
    this.now += 130_000;
  }

  /** Adds a row that requests see only as late as the overlap allows, in ms of the clock. */
  addLate(id: number, at: number): void {
    const updated_at = new Date(at).toISOString();
    this.#rows.set(id, { id, text: 'late', at, updated_at, visible: at + overlap - 1_000 });
  }

  get #visible(): Stored[] {
    return [...this.#rows.values()]
      .filter(({ visible }) => visible <= this.now)
      .sort((a, b) => a.at - b.at || b.id - a.id);
  }
}

/** The ways in which APIs write the same instant: as texts they do not sort by time. */
function written(at: number, random: number): string {
  const text = new Date(at).toISOString();
  if (random < 0.3) return text.replace(/\.?0*Z$/, 'Z');
  if (random < 0.6) return text.replace('Z', '000+00:00');
  if (random < 0.8) return `${new Date(at + 5_400_000).toISOString().slice(0, -1)}+0130`;
  return text;
}

/** The listing of the table. */
export const entries = listing<Entry>({
  path: '/entries',
  rows: 'items',
  columns: ['id', 'text', 'updated_at'],
  version: '1',
  pageSize: { param: 'n', default: 8, max: 8 },
  paging: bySince({ param: 'since', field: 'updated_at', type: 'instant', overlap }),
  key: ({ id }) => id,
  decode: (row, path, read): Entry => {
    const { id, text, updated_at: at } = read.record(row, path);
    return { id: Number(id), text: String(text), updated_at: String(at) };
  },
});

/** The source of the table, on a client of its own. */
export function entriesOf(
  { baseUrl }: Pick<ChangingTable, 'baseUrl'>,
  { apiKey = 'key-of-the-test', ...bounds }: { readonly apiKey?: string; readonly maxRows?: number } = {},
): Source<Entry> {
  const client = createClient({ apiKey, rateLimit: false, retry: { retries: 0 } });
  onTestEnd(() => client.close());
  return client.use(defineApi({ name: 'table', sources: { entries } })({ baseUrl })).table.entries(bounds);
}
