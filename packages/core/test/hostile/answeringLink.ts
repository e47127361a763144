import type { Link } from '../../src/index.js';
import { Utf8Body } from '../../src/http/adapter/utf8Body.js';
import { readAnswer } from '../../src/http/answer.js';
import { Secrets } from '../../src/http/secrets.js';
import type { ApiName } from './apiName.js';
import { endOfListing, type Mark } from './expectedWalk.js';

/** A link that answers by itself, as the transport would if these texts had come over the wire. */
export class AnsweringLink {
  /** Where each request since the last `answerWith` went on. */
  marks: Mark[] = [];
  #texts: readonly string[] = [];
  #last = '';
  readonly #secrets = new Secrets();

  constructor(secret: string) {
    this.#secrets.add(secret);
  }

  /** The next requests are answered with these, one after the other, and then with the end of a listing. */
  answerWith(api: ApiName, texts: readonly string[]): void {
    this.marks = [];
    this.#texts = texts;
    this.#last = endOfListing[api];
  }

  readonly link: Link = () => async (request) => {
    const text = this.#texts[this.marks.length] ?? this.#last;
    this.marks.push(markIn(request.query));
    const reading = readAnswer(
      { status: 200, headers: {}, body: new Utf8Body(Buffer.from(text)) },
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
export function markIn({ cursor, offset }: Readonly<Record<string, unknown>>): Mark {
  return {
    ...(cursor !== undefined && { cursor: String(cursor) }),
    ...(offset !== undefined && { offset: Number(offset) }),
  };
}
