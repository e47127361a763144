import { epoch } from './platform.js';
import type { Service } from './service.js';

/** Where the entries of an account are found. */
export const accountAddress = 'https://account.world/api/';

/** How an account writes the times of its entries; without a zone they are its own. */
export const accountTimes = ['instant', 'datetime', 'date'] as const;

export interface AccountModel {
  readonly times: (typeof accountTimes)[number];
  /** Minutes by which the account is ahead of UTC. */
  readonly zone: number;
  /** Whether a request for entries up to a time has those of that time, or day. */
  readonly isInclusive: boolean;
}

export interface AccountEntry {
  readonly id: number;
  readonly changed: string;
  /** Counts the changes of all entries. */
  readonly version: number;
}

/** A change of an entry, in ms; negative before the world began. */
export interface AccountChange {
  readonly at: number;
  readonly id: number;
  /** Ms after which requests see it: for dates, after the end of the account's day. */
  readonly late: number;
}

/** Ms before the world for which all requests ask; no entry is older. */
export const daysBefore = 259_200_000;

const day = 86_400_000;

/** Entries of an account that has its days, and takes times without a zone for its own. */
export class Account {
  readonly #model: AccountModel;
  readonly #now: () => number;
  readonly #versions: readonly (AccountEntry & { readonly at: number; readonly seen: number })[];

  constructor(model: AccountModel, changes: readonly AccountChange[], now: () => number) {
    this.#model = model;
    this.#now = now;
    this.#versions = changes
      .toSorted((a, b) => a.at - b.at)
      .map(({ at, id, late }, nth) => {
        const isDate = model.times === 'date' && late > 0;
        const seen = isDate ? this.#endOfDay(at) + late : at + late;
        return { id, at, seen, changed: this.#written(at, nth), version: nth + 1 };
      });
  }

  /** What requests see now: the latest version of each entry that is not late, oldest first. */
  get entries(): readonly (AccountEntry & { readonly at: number })[] {
    const latest = new Map(this.#versions.filter(({ seen }) => seen <= this.#now()).map((each) => [each.id, each]));
    return [...latest.values()].sort((a, b) => a.version - b.version);
  }

  readonly answer: Service = ({ url: { searchParams: query } }) => {
    const [from, to] = [query.get('from'), query.get('to')];
    const listed = this.entries.filter(
      (entry) => (from === null || this.#isFrom(entry, from)) && (to === null || this.#isUpTo(entry, to)),
    );
    const start = Number(query.get('offset') ?? 0);
    const items = listed.slice(start, start + Number(query.get('n') ?? Infinity));
    return {
      status: 200,
      headers: { date: new Date(epoch + this.#now()).toUTCString() },
      body: JSON.stringify({ items: items.map(({ id, changed, version }) => ({ id, changed, version })) }),
    };
  };

  #isFrom({ at }: { readonly at: number }, from: string): boolean {
    return at >= this.#begins(from);
  }

  #isUpTo({ at }: { readonly at: number }, to: string): boolean {
    // An inclusive end has all of what it names: a day, a minute, or as little as the values tell apart.
    const second = this.#model.times === 'instant' ? 1 : 1_000;
    const length = to.length === 10 ? day : to.length === 16 ? 60_000 : second;
    return at < this.#begins(to) + (this.#model.isInclusive ? length : 0);
  }

  /** When what a request says begins, in ms. */
  #begins(text: string): number {
    const hasZone = /Z|[+-]\d\d:\d\d$/.test(text.slice(10));
    const at = Date.parse(hasZone ? text : `${text.length === 10 ? `${text}T00:00` : text.replace(' ', 'T')}Z`) - epoch;
    return hasZone ? at : at - this.#model.zone * 60_000;
  }

  #endOfDay(at: number): number {
    const local = epoch + at + this.#model.zone * 60_000;
    return at + day - (((local % day) + day) % day);
  }

  #written(at: number, nth: number): string {
    const local = new Date(epoch + at + this.#model.zone * 60_000).toISOString();
    switch (this.#model.times) {
      case 'instant':
        return nth % 3 === 0
          ? `${local.slice(0, 19)}${zoneText(this.#model.zone)}`
          : new Date(epoch + at).toISOString();
      case 'datetime':
        return local.slice(0, 19);
      case 'date':
        return local.slice(0, 10);
    }
  }
}

/** As RFC 3339 has it. */
function zoneText(minutes: number): string {
  const two = (n: number): string => String(n).padStart(2, '0');
  const size = Math.abs(minutes);
  return `${minutes < 0 ? '-' : '+'}${two(Math.floor(size / 60))}:${two(size % 60)}`;
}
