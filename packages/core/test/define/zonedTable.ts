import { type Clock, createClient, type Source } from '../../src/index.js';
import { bySince, defineApi, listing, onePage, byOffset, byPage, type SinceOptions } from '../../src/define/index.js';
import { onTestEnd } from '../../../../scripts/testScope.js';
import type { Random } from '../../../../test/kit/random.js';
import type { Said } from './servedApi.js';

/** A row with a time, as its API writes it. */
export interface ZonedRow {
  readonly id: number;
  readonly at: string | number;
  readonly version: number;
}

interface Stored extends ZonedRow {
  readonly ms: number;
  /** From when on the API lists it: it may be late. */
  readonly visible: number;
}

type Format = 'instant' | 'datetime' | 'minute' | 'date' | 'epoch-seconds' | 'epoch-ms';

const minute = 60_000;
const hour = 60 * minute;
const day = 24 * hour;

/** How a listing finds what is new: any zone, type, format of requests, window, overlap and paging. */
export interface ZonedCase {
  readonly zone: number;
  readonly isZoneKnown: boolean;
  readonly type: Exclude<Format, 'minute'>;
  readonly write: Format | undefined;
  /** Whether a function writes it, which knows of no zone. */
  readonly isFunction: boolean;
  /** In ms; absent without windows. */
  readonly step: number | undefined;
  readonly overlap: number;
  readonly paging: 'value' | 'offsets' | 'newest-first' | 'any';
  readonly concurrency: number;
  /** Whether an end of a window is inclusive. */
  readonly isInclusive: boolean;
  /** By how many ms the clock of the client is ahead. */
  readonly skew: number;
}

const offsets = [-12, -11, -9.5, -7, -5, -3.5, 0, 1, 2, 5.75, 9, 12.75, 14] as const;
const types = ['instant', 'instant', 'epoch-seconds', 'epoch-ms', 'datetime', 'date'] as const;
const steps = [hour, 6 * hour, 12 * hour, day, day, 2 * day, 3 * day, 7 * day, 30 * day, 365 * day] as const;
const overlaps = [0, minute, hour, 18 * hour, day, 3 * day, 30 * day] as const;

export function zonedCase(random: Random): ZonedCase {
  const type = random.pick(types);
  const hasWindows = random.chance(0.75);
  const step = random.pick(steps);
  const longestSkew = hasWindows ? 0.4 * step : day;
  const isFunction = !isLocal(type) && random.chance(0.15);
  return {
    type,
    isFunction,
    skew: random.chance(0.7) ? 0 : random.int(-longestSkew, longestSkew),
    zone: random.pick(offsets) * hour,
    isZoneKnown: !isFunction && random.chance(0.4),
    write: isFunction
      ? 'date'
      : random.chance(0.3)
        ? undefined
        : random.pick(['date', 'datetime', 'minute', 'instant', 'epoch-seconds']),
    step: !hasWindows ? undefined : type === 'date' ? Math.max(day, step) : step,
    overlap: random.pick(overlaps),
    paging: random.pick(['value', 'offsets', 'newest-first', 'any']),
    concurrency: random.pick([1, 1, 2, 4]),
    isInclusive: random.chance(0.5),
  };
}

/** A table of an account whose clock is in a zone, and a client that may not know in which. */
export class ZonedTable {
  readonly begin = Date.parse('2026-03-01T00:00:00Z');
  readonly #rows = new Map<number, Stored>();
  readonly #case: ZonedCase;
  readonly #random: Random;
  now: number;
  /** Called before each response. */
  beforeResponse = (): void => undefined;
  /** Windows that asked for more than a step. */
  readonly tooLong: string[] = [];

  constructor(each: ZonedCase, random: Random) {
    this.#case = each;
    this.#random = random;
    // Its own first moment, where that is not written as an instant.
    this.now = this.begin - (isLocal(each.type) ? each.zone : 0);
  }

  /** Adds or changes a row now; the API may list it only later, as the overlap allows. */
  change(): void {
    const { overlap, type } = this.#case;
    const id = this.#random.int(0, 40);
    const late = overlap > 2_000 && this.#random.chance(0.2) ? this.#random.int(0, overlap - 2_000) : 0;
    const at = write(type, this.now, this.#case.zone);
    this.#rows.set(id, {
      id,
      at: type.startsWith('epoch') ? Number(at) : at,
      version: this.#random.int(0, 1e9),
      ms: Math.floor(this.now / 1_000) * 1_000,
      visible: this.now + late,
    });
  }

  /** What requests can see now. */
  get visible(): readonly Stored[] {
    return [...this.#rows.values()].filter(({ visible }) => visible <= this.now);
  }

  /** A page of the table. */
  answer({ searchParams: query }: URL): Said {
    this.beforeResponse();
    const { type, write: format = type, zone, isInclusive, paging } = this.#case;
    const [from, to] = [query.get('from'), query.get('to')].map((text) =>
      text === null ? undefined : readTime(format, text, zone),
    );
    if (from !== undefined && to !== undefined && to - from > this.#longest)
      this.tooLong.push(`${query.get('from')!} to ${query.get('to')!}`);
    const startOf = (row: Stored): number =>
      type === 'date' ? Math.floor((row.ms + zone) / day) * day - zone : row.ms;
    const listed = this.visible
      .filter((row) => startOf(row) >= (from ?? -Infinity))
      .filter((row) => to === undefined || startOf(row) < to || (isInclusive && startOf(row) === to))
      .sort((a, b) => (startOf(a) - startOf(b) || a.id - b.id) * (paging === 'newest-first' ? -1 : 1));
    const size = Number(query.get('n') ?? 1_000);
    const first = Number(query.get('offset') ?? (Number(query.get('page') ?? 1) - 1) * size);
    const body = listed.slice(first, first + size).map(({ id, at, version }) => ({ id, at, version }));
    return { body, headers: { date: new Date(this.now).toUTCString() } };
  }

  /** What a request may ask for: if the zone is unknown, a short step is not enough for what it may be. */
  get #longest(): number {
    const { type, write: format = type, isFunction, isZoneKnown, step = Infinity } = this.#case;
    const isSure = isLocal(type) === isLocal(format) || isZoneKnown || step >= 3 * day;
    const isWhole = format !== 'date' || step % day === 0;
    return isSure && isWhole && !isFunction ? step : Infinity;
  }

  /** Its listing, on a client of its own. */
  open(baseUrl: string): Source<ZonedRow> {
    const { type, write: format, isFunction, zone, isZoneKnown, step, overlap, paging } = this.#case;
    const usesZone = isLocal(type) || (format !== undefined && isLocal(format));
    const options = {
      param: 'from',
      field: 'at',
      type,
      begin: new Date(this.begin).toISOString().slice(0, 10),
      overlap,
      ...(format && { write: isFunction ? dayOf(type) : `{${format}}` }),
      ...(isZoneKnown && usesZone && { zone: zoneName(zone) }),
      ...(step !== undefined && { windows: { to: 'to', step } }),
      ...(paging === 'offsets' && { paging: byOffset({ param: 'offset' }) }),
      ...(paging === 'newest-first' && { order: 'newest-first', paging: byPage({ param: 'page' }) }),
      ...(paging === 'any' && { order: 'any', paging: onePage() }),
    } as SinceOptions;
    const clock: Clock = {
      now: () => this.now + this.#case.skew,
      monotonic: () => performance.now(),
      after(ms, callback) {
        const timer = setTimeout(callback, ms);
        return () => clearTimeout(timer);
      },
    };
    // By the value of the last row, a page has all rows of the hours that are requested in vain.
    const size = paging === 'value' ? 200 : 7;
    const rows = listing<ZonedRow>({
      path: '/rows',
      rows: '',
      columns: ['id', 'at', 'version'],
      key: ({ id }) => id,
      paging: bySince(options),
      ...(paging !== 'any' && { pageSize: { param: 'n', default: size, max: size } }),
    });
    const client = createClient({ apiKey: false, rateLimit: false, retry: { retries: 0 }, clock }).use(
      defineApi({ name: 'zoned', sources: { rows } })({ baseUrl }),
    );
    onTestEnd(() => client.close());
    return client.zoned.rows();
  }
}

function isLocal(format: Format): boolean {
  return format === 'date' || format === 'datetime' || format === 'minute';
}

/** What somebody writes who thinks of UTC. */
function dayOf(type: Format): (value: string, bound: 'from' | 'to') => string {
  return (value, bound) => {
    const ms =
      type === 'epoch-seconds' ? Number(value) * 1_000 : type === 'epoch-ms' ? Number(value) : Date.parse(value);
    return new Date(bound === 'from' ? ms : ms + day - 1).toISOString().slice(0, 10);
  };
}

/** As an API writes a time. It shares no code with the client. */
function write(format: Format, ms: number, zone: number): string {
  const seconds = Math.floor(ms / 1_000);
  if (format === 'epoch-seconds') return String(seconds);
  if (format === 'epoch-ms') return String(seconds * 1_000);
  const local = new Date(seconds * 1_000 + zone).toISOString();
  if (format === 'instant') return `${local.slice(0, 19)}${zoneName(zone)}`;
  return format === 'date' ? local.slice(0, 10) : local.slice(0, format === 'minute' ? 16 : 19);
}

/** As an API understands a time of a request. */
function readTime(format: Format, text: string, zone: number): number {
  if (format === 'epoch-seconds') return Number(text) * 1_000;
  if (format === 'epoch-ms') return Number(text);
  if (format === 'instant') return Date.parse(text);
  const full = text.length === 10 ? `${text}T00:00` : text.replace(' ', 'T');
  return Date.parse(`${full}Z`) - zone;
}

function zoneName(zone: number): string {
  const minutes = Math.abs(zone) / minute;
  const [hours, rest] = [Math.floor(minutes / 60), minutes % 60];
  return `${zone < 0 ? '-' : '+'}${String(hours).padStart(2, '0')}:${String(rest).padStart(2, '0')}`;
}
