import type { Link } from '../../packages/core/src/index.js';
import { readResponse } from '../../packages/core/src/http/response/readResponse.js';
import { Secrets } from '../../packages/core/src/http/secrets.js';
import type { ApiName } from '../../test/kit/apiReference.js';
import { endOfListing, type PageCursor } from './expectedWalk.js';

/**
 * A link that responds by itself, as the transport would if these texts had arrived over the wire. Without texts it
 * passes requests on, and a header says which page each request is for.
 */
export class AnsweringLink {
  /** The cursor or offset of each request since the last `answerWith`. */
  marks: PageCursor[] = [];
  #texts: readonly string[] | undefined;
  #last = '';
  readonly #secrets = new Secrets();

  constructor(secret: string) {
    this.#secrets.add(secret);
  }

  /** The next requests receive these, one after the other, and then the end of a listing. */
  answerWith(api: ApiName, texts: readonly string[] | undefined): void {
    this.marks = [];
    this.#texts = texts;
    this.#last = endOfListing[api];
  }

  readonly link: Link = (next) => async (request) => {
    const page = this.marks.length;
    this.marks.push(markIn(request.query));
    if (!this.#texts) return next({ ...request, headers: { ...request.headers, 'x-page': String(page) } });
    // As an adapter gives it, without a byte order mark.
    const text = received(this.#texts[page] ?? this.#last).replace(/^\uFEFF/, '');
    const reading = readResponse(
      { status: 200, headers: {}, text },
      { route: request.route, secrets: this.#secrets, now: 0, credentials: { name: 'API key', isSent: true } },
    );
    if (!reading.ok) throw reading.fault.error;
    return { status: 200, headers: {}, body: reading.body, attempts: 1 };
  };
}

/** A text after it was sent over a wire: UTF-8 cannot carry half of a character. */
export function received(text: string): string {
  return Buffer.from(text).toString();
}

/** The position that a query asks for. */
function markIn({ cursor, offset }: Readonly<Record<string, unknown>>): PageCursor {
  return {
    ...(cursor !== undefined && { cursor: String(cursor) }),
    ...(offset !== undefined && { offset: Number(offset) }),
  };
}
