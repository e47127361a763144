import type { Link } from '../../packages/core/src/index.js';
import { Utf8Body } from '../../packages/core/src/http/adapter/utf8Body.js';
import { readAnswer } from '../../packages/core/src/http/answer.js';
import { Secrets } from '../../packages/core/src/http/secrets.js';
import type { ApiName } from '../kit/apiReference.js';
import { endOfListing, type PageCursor } from './expectedWalk.js';

/**
 * A link that answers by itself, as the transport would if these texts had come over the wire. Without texts it passes requests on, and says
 * in a header which page each is for.
 */
export class AnsweringLink {
  /** Where each request since the last `answerWith` went on. */
  marks: PageCursor[] = [];
  #texts: readonly string[] | undefined;
  #last = '';
  readonly #secrets = new Secrets();

  constructor(secret: string) {
    this.#secrets.add(secret);
  }

  /** The next requests are answered with these, one after the other, and then with the end of a listing. */
  answerWith(api: ApiName, texts: readonly string[] | undefined): void {
    this.marks = [];
    this.#texts = texts;
    this.#last = endOfListing[api];
  }

  readonly link: Link = (next) => async (request) => {
    const page = this.marks.length;
    this.marks.push(markIn(request.query));
    if (!this.#texts) return next({ ...request, headers: { ...request.headers, 'x-page': String(page) } });
    const reading = readAnswer(
      { status: 200, headers: {}, body: new Utf8Body(Buffer.from(this.#texts[page] ?? this.#last)) },
      { route: request.route, secrets: this.#secrets, now: 0, hasKey: true },
    );
    if (!reading.ok) throw reading.fault.error;
    return { status: 200, headers: {}, body: reading.body, attempts: 1 };
  };
}

/** A text as it is once it has come over a wire: in UTF-8 nothing is half of a character. */
export function received(text: string): string {
  return Buffer.from(text).toString();
}

/** What a query says of the place where it goes on. */
function markIn({ cursor, offset }: Readonly<Record<string, unknown>>): PageCursor {
  return {
    ...(cursor !== undefined && { cursor: String(cursor) }),
    ...(offset !== undefined && { offset: Number(offset) }),
  };
}
