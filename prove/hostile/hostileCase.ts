import fc from 'fast-check';
import type { ApiName } from '../../test/kit/apiReference.js';
import { expectedPage } from './expectedPage.js';
import { hostileChange, hostileDocument, type DocumentOrigin } from './hostileDocument.js';
import type { HostileWalk, Use } from './hostileWalks.js';
import { hostileKey } from './keyTraces.js';
import { wire, type Wire } from './wire.js';

/** One walk, and how its responses arrive. */
export interface HostileCase extends HostileWalk {
  /** Absent if the documents are read without a socket in between. */
  readonly wires?: readonly Wire[];
}

/** Rows of valid responses. */
export type ValidRows = Readonly<Record<ApiName, readonly object[]>>;

/** One walk in this many receives its responses over a socket. */
const socketShare = 6;

/** Walks of up to three hostile responses. */
export function hostileCase(rows: ValidRows): fc.Arbitrary<HostileCase> {
  const ofApi = (api: ApiName): fc.WeightedArbitrary<HostileCase>[] => [
    { weight: 15, arbitrary: walkCase(api, rows[api]) },
    // Two polls of few rows have some of them in common.
    { weight: 1, arbitrary: watchCase(api, rows[api].slice(0, 4)) },
  ];
  return fc.oneof(...ofApi('streams'), ...ofApi('aptos'));
}

function walkCase(api: ApiName, rows: readonly object[]): fc.Arbitrary<HostileCase> {
  const use = fc.oneof(
    { weight: 40, arbitrary: fc.constant<Use>('rows') },
    { weight: 5, arbitrary: fc.constant<Use>('texts') },
    { weight: 1, arbitrary: fc.constant<Use>('file') },
  );
  return fc
    .record({ use, answers: answers(hostileDocument({ api, rows, secret: hostileKey })) })
    .map(({ use: each, answers: told }) => ({ api, use: each, ...told }));
}

function watchCase(api: ApiName, rows: readonly object[]): fc.Arbitrary<HostileCase> {
  const origin: DocumentOrigin = { api, rows, secret: hostileKey };
  const document = hostileDocument(origin);
  // A wire cannot carry half of a character, and the result of the first poll must be known.
  const whole = document.map((text) => Buffer.from(text).toString());
  const isListing = (text: string): boolean => {
    const page = expectedPage(api, text);
    return 'rows' in page && page.next === 'end';
  };
  // The second poll mostly finds the rows of the first, with a change here and there.
  const again = fc.option(hostileChange(origin), { freq: 3 });
  return fc
    .record({ first: whole.filter(isListing), again, answers: answers(document) })
    .map(({ first, again: change, answers: { texts, wires } }) => ({
      api,
      use: 'watch',
      first,
      texts: change === null ? texts : [change(JSON.parse(first.replace(/^\ufeff/, ''))), ...texts.slice(1)],
      ...(wires && { wires }),
    }));
}

function answers(document: fc.Arbitrary<string>): fc.Arbitrary<Pick<HostileCase, 'texts' | 'wires'>> {
  const count = fc.oneof({ weight: 6, arbitrary: fc.constant(1) }, { weight: 3, arbitrary: fc.constantFrom(2, 3) });
  return fc
    .record({
      texts: count.chain((length) => fc.array(document, { minLength: length, maxLength: length })),
      wires: fc.oneof(
        { weight: socketShare - 1, arbitrary: fc.constant(undefined) },
        { weight: 1, arbitrary: fc.array(wire, { minLength: 3, maxLength: 3 }) },
      ),
    })
    .map(({ texts, wires }) => ({ texts, ...(wires && { wires: wires.slice(0, texts.length) }) }));
}
