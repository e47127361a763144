import type { ApiName } from '../../test/kit/apiReference.js';
import { expectedPage, type Expected } from './expectedPage.js';
import { bodyOf, packings, readAs } from './body.js';
import { framed, inPieces, type Arrival } from './framing.js';
import type { SentAnswer } from './hostileServer.js';
import { informationalLine } from './oddLines.js';
import type { Wire } from './wire.js';

const noRows: Expected = { rows: [], next: 'end', isNothing: true };
/** Some documents with more bytes would take too much of the child's memory once parsed. */
const maxCheapBytes = 150_000;

/** A document on the wire, and its permitted outcomes. */
export function onTheWire(
  api: ApiName,
  text: string,
  how: Wire,
): { readonly answer: SentAnswer; readonly expected: readonly Expected[] } {
  const { label } = packings[how.packing];
  const { bytes, then, arrives } = framed(how, label, bodyOf(text, how));
  return {
    answer: { pieces: inPieces(bytes, how.pace), then },
    expected: [...arrives.flatMap((arrival) => readingsOf(api, how, label, arrival)), ...doubts(how)],
  };
}

/** The permitted reactions of an HTTP parser to what it need not understand. */
function doubts({ line, status, headers }: Wire): readonly Expected[] {
  // The final response never comes.
  if (line === informationalLine) return [{ codes: ['timeout', 'network', 'decode'] }];
  if (status === undefined) return [{ codes: ['network', 'decode', 'http', 'unexpected-redirect', 'rate-limited'] }];
  return headers.some(({ isDoubtful }) => isDoubtful) ? [{ codes: ['network', 'decode'] }] : [];
}

function readingsOf(api: ApiName, how: Wire, label: string | undefined, arrival: Arrival): readonly Expected[] {
  const { status = 200 } = how;
  // These have no body, whatever follows them, and contradict a length. A 204 is a first page without rows.
  if (status === 204) return [noRows, { codes: ['decode', 'network'] }];
  if (status === 304) return [{ codes: ['http', 'decode', 'network'] }];
  if (arrival === 'refused') return [{ codes: ['network', 'decode'] }];
  const statusOfError = isSuccess(status) ? [] : [ofStatus(api, status, '', how)];
  // That a body is not compressed as declared may be found before its end, and then the status of an error counts.
  if (arrival === 'cut') return [{ codes: ['decode'] }, ...(label === undefined ? [] : statusOfError)];
  const read = readAs(label, arrival, declaredCharset(how));
  // Of an error the status counts, if its body is complete.
  if ('code' in read) return [{ codes: [read.code] }, ...statusOfError];
  const expected = ofStatus(api, status, read.text, how);
  return read.text.length > maxCheapBytes ? [expected, { codes: ['response-too-large'] }] : [expected];
}

function ofStatus(api: ApiName, status: number, text: string, { headers: sent }: Wire): Expected {
  // 205 means that there is no content (RFC 9110, 15.3.6).
  if (status === 205 && text.replace(/^\ufeff/, '') === '') return noRows;
  const asks = sent.some(({ text: header }) => header.startsWith('Retry-After'));
  // Not ready yet, whatever the document is.
  if (status === 202) return { codes: asks ? ['http', 'rate-limited'] : ['http'] };
  if (isSuccess(status)) return expectedPage(api, text);
  if (status >= 300 && status < 400) return { codes: ['unexpected-redirect'] };
  if (status === 429) return { codes: ['rate-limited'] };
  // A 401 renews the key, and a 407 is of a proxy: neither may succeed by waiting.
  const isObeyed = asks && status !== 401 && status !== 407;
  return { codes: isObeyed ? ['http', 'rate-limited'] : ['http'], status };
}

function isSuccess(status: number): boolean {
  return status >= 200 && status < 300;
}

/** The first one that is declared. */
function declaredCharset({ headers }: Wire): string | undefined {
  const [, charset] = /charset=([\w-]+)/.exec(headers.map(({ text }) => text).join()) ?? [];
  return charset;
}
