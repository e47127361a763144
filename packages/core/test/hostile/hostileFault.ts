import fc from 'fast-check';
import type { Source } from '../../src/index.js';
import { received, type AnsweringLink } from './answeringLink.js';
import type { ApiName } from './apiName.js';
import { expectedPage } from './expectedPage.js';
import { expectedWalks } from './expectedWalk.js';
import { hostileDocument } from './hostileDocument.js';
import { hostileKey } from './hostileKey.js';
import { judged } from './judged.js';
import { outcomeOf } from './outcome.js';
import { pollution } from './pollution.js';

/** A source, and the link that answers it. */
export interface Hostage {
  readonly api: ApiName;
  readonly source: Source<unknown>;
  readonly link: AnsweringLink;
}

/** Gives one walk these documents; a sentence if anything else came of it than the reference says. */
export async function faultOf({ api, source, link }: Hostage, texts: readonly string[]): Promise<string | undefined> {
  link.answerWith(api, texts);
  const outcome = await outcomeOf(source, hostileKey);
  const walks = expectedWalks(
    api,
    texts.map((text) => [expectedPage(api, received(text))]),
    hostileKey,
  );
  return judged(outcome, link.marks, walks, { secret: hostileKey, sent: texts }) ?? pollution();
}

/** Gives walks mutated documents. The first fault, with the fewest mutations that show it; nothing if there is none. */
export async function hostileFault(
  hostage: Hostage,
  { rows, seed, walks }: { readonly rows: readonly unknown[]; readonly seed: number; readonly walks: number },
): Promise<string | undefined> {
  const documents = fc.array(hostileDocument({ api: hostage.api, rows, secret: hostileKey }), {
    minLength: 1,
    maxLength: 3,
  });
  const { counterexample, errorInstance } = await fc.check(
    fc.asyncProperty(documents, async (texts) => {
      const fault = await faultOf(hostage, texts);
      if (fault !== undefined) throw new Error(fault);
    }),
    { seed, numRuns: walks },
  );
  if (!counterexample) return undefined;
  return `${String(errorInstance)}\n${shown(counterexample[0])}`;
}

function shown(texts: readonly string[]): string {
  return texts
    .map(
      (text) =>
        `${text.length} characters: ${text.length > 1_000 ? `${text.slice(0, 500)} … ${text.slice(-500)}` : text}`,
    )
    .join('\n');
}
