import { Secrets, SluiceError } from '@sluice/core';
import { Interruption, UsageError } from './errors.js';

const hidden = '[hidden]';

/** A secret that is no longer is looked for as it is only; all letters or all digits, it may be a word of any sentence: "none", "test", "25". */
const longestWord = 7;
const word = /^(?:[a-z]+|\d+)$/i;

/** Text without any of the secrets: long ones in all spellings that core knows, short ones as they are and percent-encoded. */
export function scrubbed(text: string, secrets: Iterable<string>): string {
  const all = [...secrets];
  return without(formsOf(all), longOf(all).redact(text));
}

/**
 * The same for sentences of ours. A secret that is also a word is taken out where a value stands: in an address, an assignment or quotes.
 * Elsewhere it is left, where nobody can tell it for one; to take it out would spoil our own words, and show which one it is.
 */
export function scrubbedValues(text: string, secrets: Iterable<string>): string {
  const all = [...secrets];
  return without(
    formsOf(all).map((form) => (isWord(form) ? asValue(form) : form)),
    longOf(all).redact(text),
  );
}

/** How the sentence about a fault is scrubbed: what code of others has thrown may hold anything. */
export function scrubberOf(fault: unknown): typeof scrubbed {
  const isOurs = fault instanceof UsageError || fault instanceof Interruption || SluiceError.is(fault);
  return isOurs && fault.cause === undefined ? scrubbedValues : scrubbed;
}

/** Whether a text holds one of the secrets. That it holds one that is also a word says nothing. */
export function holdsSecret(text: string, secrets: Iterable<string>): boolean {
  const all = [...secrets];
  return longOf(all).has(text) || all.some((secret) => secret !== '' && !isWord(secret) && text.includes(secret));
}

function longOf(all: readonly string[]): Secrets {
  const secrets = new Secrets();
  for (const secret of all) if (secret.length > longestWord) secrets.add(secret);
  return secrets;
}

/** Those of the short ones, the longest first, since one may be a part of another. */
function formsOf(all: readonly string[]): string[] {
  const short = all.filter((secret) => secret !== '' && secret.length <= longestWord);
  return short.flatMap((secret) => [secret, encodeURIComponent(secret)]).sort((a, b) => b.length - a.length);
}

function without(forms: readonly (string | RegExp)[], text: string): string {
  return forms.reduce<string>((clean, form) => clean.replaceAll(form, hidden), text);
}

function isWord(secret: string): boolean {
  return secret.length <= longestWord && word.test(secret);
}

function asValue(secret: string): RegExp {
  return new RegExp(`(?<=[=:/@"'&?#])${secret}(?![A-Za-z0-9])`, 'g');
}
