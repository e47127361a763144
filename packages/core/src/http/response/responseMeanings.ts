import { HttpError } from '../../errors.js';
import { meaningOf, type ReceivedResponse, type ResponseMeaning, type Responses } from './responses.js';

/** Asks what the responses to one request mean: once for each attempt. */
export class ResponseMeanings {
  /** What the transport asks; absent if there is nobody to ask. */
  readonly meaningOf: ((received: ReceivedResponse) => ResponseMeaning | undefined) | undefined;
  #isAsked = false;
  #last: ResponseMeaning | undefined;

  constructor(...asked: readonly (Responses | undefined)[]) {
    if (asked.every((each) => each === undefined)) return;
    this.meaningOf = (received) => {
      this.#isAsked = true;
      this.#last = undefined;
      return (this.#last = meaningOf(asked, received));
    };
  }

  /**
   * What the API says about missing rows, if it was a `partial` response. Links may have replaced it since. One that a
   * link made without any attempt, e.g. from a cache, is asked about here.
   *
   * @throws HttpError if such a response is an error; what a function throws
   */
  partialOf(route: string, received: ReceivedResponse): string | undefined {
    const { status } = received;
    if (this.meaningOf && !this.#isAsked && status !== 304) {
      const kind = this.meaningOf(received)?.kind ?? 'ok';
      if (kind !== 'ok' && kind !== 'partial')
        throw new HttpError(`${route}: a response with status ${status} that no request was sent for means ${kind}.`, {
          status,
          excerpt: '',
          details: { route, isTemporary: kind === 'retry' || kind === 'rate-limited', means: kind },
        });
    }
    return this.#last?.kind === 'partial' ? (this.#last.message ?? '') : undefined;
  }
}
