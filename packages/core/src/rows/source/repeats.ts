import type { ChainPosition, PageCursor } from '../../position.js';
import { SeenTexts } from './seenTexts.js';

/** Fingerprints of pages that a position stores. */
type KnownPages = Pick<ChainPosition, 'first' | 'previous' | 'landmark'>;

/**
 * Detects that a chain of pages repeats itself.
 *
 * It remembers all pages and cursors as hashes (see `SeenTexts`), so it finds the first repeated one. A position has no
 * space for all of them. It stores three pages: the first, the previous, and a landmark, which is replaced at doubling
 * distances. Thus even a walk that is interrupted often detects any loop within three rounds (Brent, 1980).
 */
export class Repeats {
  readonly #pages = new SeenTexts();
  readonly #cursors = new SeenTexts();
  #known: KnownPages = {};
  /** The page that becomes the landmark: a power of two, whatever position the walk resumed from. */
  #nextLandmark: number;

  constructor(from: ChainPosition | undefined) {
    this.#nextLandmark = 2 ** Math.ceil(Math.log2((from?.pages ?? 0) + 1));
    if (!from) return;
    const { first, previous, landmark } = from;
    this.#known = {
      ...(first !== undefined && { first }),
      ...(previous !== undefined && { previous }),
      ...(landmark !== undefined && { landmark }),
    };
    for (const page of [first, previous, landmark]) if (page !== undefined) this.#pages.add(page);
    if ('cursor' in from.next) this.#cursors.add(from.next.cursor);
  }

  get known(): KnownPages {
    return this.#known;
  }

  /**
   * Adds a page with rows. If the page is known, returns which page it repeats.
   *
   * @param nth its number, from 1
   */
  addPage(page: string, nth: number): 'the page before' | 'the first page' | 'an earlier page' | undefined {
    const { first = page, previous, landmark = page } = this.#known;
    if (this.#pages.has(page))
      return page === previous ? 'the page before' : page === first ? 'the first page' : 'an earlier page';
    this.#pages.add(page);
    const isLandmark = nth >= this.#nextLandmark;
    if (isLandmark) this.#nextLandmark *= 2;
    this.#known = { first, previous: page, landmark: isLandmark ? page : landmark };
    return undefined;
  }

  /**
   * Adds the cursor of the next page. Returns whether it leads to an earlier page, even if rows there have changed.
   *
   * @param used the cursor of this page, which may repeat: some APIs keep one cursor and advance it themselves
   */
  addCursor(next: PageCursor, used: PageCursor | undefined): boolean {
    if (!('cursor' in next)) return false;
    const isSame = used !== undefined && 'cursor' in used && used.cursor === next.cursor;
    const isRepeated = !isSame && this.#cursors.has(next.cursor);
    this.#cursors.add(next.cursor);
    return isRepeated;
  }
}
