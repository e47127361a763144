import type { SeriesView } from './snapshot.js';

const sums = ['rows', 'changes'] as const;
const peaks = ['used', 'queued'] as const;

/** What happened in a second, or later in a minute. `at`: seconds since 1970. */
export type Bucket = { at: number } & Record<(typeof sums)[number] | (typeof peaks)[number], number>;

/** A time in which nothing succeeded, in ms since 1970. `to` is absent while it lasts. */
export interface Gap {
  readonly from: number;
  readonly to?: number;
}

const hour = 3_600;
const minute = 60;
/** Minutes that are kept beyond the hour. */
const maxMinutes = 1_440;
/** Points of a view. */
const maxPoints = 300;

/** Counts what happens by the second for an hour, and by the minute for a day before that. Its size is bounded. */
export class Series {
  #seconds: Bucket[] = [];
  #minutes: Bucket[] = [];

  /** The bucket of a moment, in ms since 1970. A clock that was set back adds to the newest one. */
  bucket(now: number): Bucket {
    const at = Math.floor(now / 1_000);
    const last = this.#seconds.at(-1);
    if (last && last.at >= at) return last;
    const bucket = emptyBucket(at);
    this.#seconds.push(bucket);
    this.#coarsen(at);
    return bucket;
  }

  /** Rows per second in the `seconds` before now. */
  pace(now: number, seconds: number): number {
    const length = Math.min(seconds, Math.max(1, now / 1_000 - this.#first(now)));
    let rows = 0;
    // From the end, since these are few.
    for (let nth = this.#seconds.length - 1; nth >= 0; nth -= 1) {
      const bucket = this.#seconds[nth];
      if (!bucket || bucket.at < now / 1_000 - seconds) break;
      rows += bucket.rows;
    }
    return rows / length;
  }

  /**
   * At most 300 points of the last `span` seconds; `Infinity` means all that is kept. Nothing is known before the first
   * bucket, and in gaps.
   *
   * @param areRowsKnown in gaps, too
   */
  view(now: number, span: number, gaps: readonly Gap[] = [], { areRowsKnown = true } = {}): SeriesView {
    const end = Math.floor(now / 1_000) + 1;
    const length = Math.max(1, Math.min(span, Math.max(end - this.#first(now), minute)));
    const step = Math.ceil(length / maxPoints);
    const points = Math.ceil(length / step);
    const from = end - points * step;
    const merged = Array.from({ length: points }, () => emptyBucket(0));
    for (const bucket of [...this.#minutes, ...this.#seconds]) {
      const point = merged[Math.floor((bucket.at - from) / step)];
      if (point) add(point, bucket);
    }
    const first = this.#first(now);
    const isKnown = (nth: number): boolean => {
      const at = from + nth * step;
      return (
        at + step > first && !gaps.some((gap) => gap.from <= at * 1_000 && (gap.to ?? Infinity) >= (at + step) * 1_000)
      );
    };
    const known = merged.map((_, nth) => isKnown(nth));
    const values = (name: (typeof sums)[number] | (typeof peaks)[number], isAlways = false): (number | null)[] =>
      merged.map((bucket, nth) =>
        known[nth] || bucket[name] > 0 || (isAlways && from + nth * step >= first) ? bucket[name] : null,
      );
    return {
      step,
      until: end * 1_000,
      // In an outage nobody knows what changed; that no row arrived is known, and so is what the limiter does.
      rows: values('rows', areRowsKnown),
      changes: values('changes'),
      used: values('used', true),
      queued: values('queued', true),
    };
  }

  /** When the first bucket began. */
  #first(now: number): number {
    return this.#minutes[0]?.at ?? this.#seconds[0]?.at ?? now / 1_000;
  }

  #coarsen(now: number): void {
    const old = this.#seconds.findIndex(({ at }) => at > now - hour);
    for (const bucket of this.#seconds.splice(0, Math.max(0, old))) {
      const at = bucket.at - (bucket.at % minute);
      let whole = this.#minutes.at(-1);
      if (whole?.at !== at) this.#minutes.push((whole = emptyBucket(at)));
      add(whole, bucket);
    }
    this.#minutes.splice(0, Math.max(0, this.#minutes.length - maxMinutes));
  }
}

function add(sum: Bucket, bucket: Bucket): void {
  for (const name of sums) sum[name] += bucket[name];
  for (const name of peaks) sum[name] = Math.max(sum[name], bucket[name]);
}

function emptyBucket(at: number): Bucket {
  return { at, rows: 0, changes: 0, used: 0, queued: 0 };
}
