import type { Random } from '../../test/kit/random.js';
import type { Answered } from './service.js';
import type { Life } from './schedule.js';

/** How an API answers requests that carry a cursor with a page that it has sent before: a walk would never end. */
export interface RepeatsModel {
  /** From when on it does, in ms, and until when; `null`: until nothing disturbs the world any more. */
  readonly from: number;
  readonly until: number | null;
  /** The share of these requests. */
  readonly share: number;
  /** The page that gave the cursor, and so gives it again; or the first one. */
  readonly page: 'before' | 'first';
}

/** Marks a page that is sent again. Clients don't know it. */
const repeated = 'x-world-repeated';

export function isRepeated({ headers = {} }: Answered): boolean {
  return headers[repeated] !== undefined;
}

/** Sends pages again that processes have got. */
export class Repeats {
  readonly #model: RepeatsModel;
  readonly #random: Random;
  /** By the requests that they are sent again for. */
  readonly #pages = new Map<string, Answered>();
  #isQuiet = false;

  constructor(model: RepeatsModel, random: Random) {
    this.#model = model;
    this.#random = random;
  }

  /** Repeats no page from now on. */
  quieten(): void {
    this.#isQuiet = true;
  }

  /** A process has got the answer to a request. */
  got(url: URL, answer: Answered): void {
    if (answer.status !== 200) return;
    const { cursor, next, items }: Paged = JSON.parse(answer.body);
    // APIs may send pages without rows one after another: nobody can tell whether they are the same.
    if (items?.length === 0) return;
    const listing = listingOf(url);
    if (this.#model.page === 'before') this.#pages.set(`${listing} ${cursor ?? next ?? ''}`, answer);
    else if (!url.searchParams.has('cursor')) this.#pages.set(listing, answer);
  }

  /** The page that a request gets instead of its own, if one is due. */
  insteadOf(url: URL, now: number): Answered | undefined {
    const { page } = this.#model;
    const cursor = url.searchParams.get('cursor');
    if (cursor === null) return undefined;
    const listing = listingOf(url);
    const known = this.#pages.get(page === 'first' ? listing : `${listing} ${cursor}`);
    return known && this.#isDue(now) ? { ...known, headers: { ...known.headers, [repeated]: page } } : undefined;
  }

  #isDue(now: number): boolean {
    const { from, until, share } = this.#model;
    return !this.#isQuiet && now >= from && now < (until ?? Infinity) && this.#random.chance(share);
  }
}

/** The listing that a request asks for a page of. */
function listingOf(url: URL): string {
  const first = new URL(url);
  first.searchParams.delete('cursor');
  return first.pathname + first.search;
}

/** A page of any API of a world: its rows, if their name is `items`, and the cursor of the next page. */
interface Paged {
  readonly items?: readonly unknown[];
  readonly cursor?: string | null;
  readonly next?: string;
}

/**
 * P4: a process that is sent a page with rows again requests nothing more, and does not end as if it had all rows. One that
 * brings a table up to date may give up the run that it resumed, once, and begin with a first page.
 */
export class RepeatsOracle {
  readonly #violated: (what: string) => void;
  readonly #since = new Map<Life, number>();
  readonly #begunAgain = new Set<Life>();

  constructor(violated: (what: string) => void) {
    this.#violated = violated;
  }

  /** A process has got an answer. */
  got(life: Life, answer: Answered, now: number): void {
    if (isRepeated(answer) && !this.#since.has(life)) this.#since.set(life, now);
  }

  /** A process requests a page. */
  sent(life: Life, now: number, mayBegin: boolean): void {
    const since = this.#since.get(life);
    if (since === undefined || now <= since) return;
    const beginsAgain = mayBegin && !this.#begunAgain.has(life);
    this.#begunAgain.add(life);
    if (beginsAgain) this.#since.delete(life);
    else this.#violated(`${life.name} requested a page ${now - since} ms after it was sent one again.`);
  }

  /** Whether a process was sent a page again. */
  has(life: Life): boolean {
    return this.#since.has(life);
  }

  ended(life: Life, error: unknown): void {
    if (error === undefined && this.has(life)) this.#violated(`${life.name} was sent a page again, and ended well.`);
  }
}
