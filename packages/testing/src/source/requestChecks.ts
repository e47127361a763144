import { check, checkSame } from '../check.js';
import type { Checks } from '../suite.js';
import type { SentRequest } from './sourceFixture.js';
import type { WalkedSource } from './walkedSource.js';

/** What the requests of a source contain. */
export const requestChecks: Checks<WalkedSource> = {
  'sends the same requests on every walk': async (walked) => {
    walked.mustEnd();
    const first = await walked.sentOn(() => walked.manyPages());
    const second = await walked.sentOn(() => walked.pages());
    // A cursor that stays in a shared body, for example, is sent with the first request of the next walk.
    for (const [at, request] of first.entries())
      checkSame(second[at], request, `Request ${at} (from 0) of a second walk`);
    checkSame(second.length, first.length, 'The number of requests of a second walk');
  },

  'sends another request for each page, in its URL or in its body': async (walked) => {
    // An API that counts the pages itself gets the same request each time.
    walked.mustResume();
    walked.mustEnd();
    const sent = await walked.sentOn(() => walked.manyPages());
    const seen = new Map<string, number>();
    for (const [at, { method, url, body = '' }] of sent.entries()) {
      const request = JSON.stringify([method, url, body]);
      const before = seen.get(request);
      check(
        before === undefined,
        `Requests ${before} and ${at} (from 0) of a walk are the same, ${method} ${url}: the cursor was not sent.`,
      );
      seen.set(request, at);
    }
  },

  'sends bodies as JSON, and none with GET': async (walked) => {
    walked.mustEnd();
    for (const request of await walked.sentOn(() => walked.manyPages())) checkBody(request);
  },
};

function checkBody({ method, url, body = '', contentType }: SentRequest): void {
  if (body === '') return;
  check(method !== 'GET', `GET ${url} has a body, which servers and proxies may drop.`);
  check(isJson(body), `The body of ${method} ${url} is not JSON: ${body.slice(0, 100)}.`);
  check(
    contentType === undefined || /json/i.test(contentType),
    `${method} ${url} sends JSON as ${contentType ?? ''}: its Content-Type must be application/json.`,
  );
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
