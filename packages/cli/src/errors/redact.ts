import { SluiceError } from '@sluice/core';
import { Secrets } from '@sluice/core/kit';
import { Interruption, UsageError } from './errors.js';

const hidden = '[hidden]';

/** The maximum length of a short secret. One of only letters or only digits may be a word: "none", "test", "25". */
const longestWord = 7;
const word = /^(?:[a-z]+|\d+)$/i;

/** Removes secrets from a text: long ones in all encodings that core knows, short ones plain and percent-encoded. */
export function redact(text: string, secrets: Iterable<string>): string {
  const all = [...secrets];
  return hideAll(listShortForms(all), collectLong(all).redact(text));
}

/**
 * The same for our own sentences. A secret that is also a word is removed only where a value can be: in a URL, an
 * assignment or quotes. Elsewhere nobody can recognize it; removing it would garble our words and reveal the secret.
 */
export function redactValues(text: string, secrets: Iterable<string>): string {
  const all = [...secrets];
  return hideAll(
    listShortForms(all).map((form) => (isWord(form) ? asValue(form) : form)),
    collectLong(all).redact(text),
  );
}

/** How to redact the sentence about an error. An error of foreign code may contain anything. */
export function redactorFor(error: unknown): typeof redact {
  const isOurs = error instanceof UsageError || error instanceof Interruption || SluiceError.is(error);
  return isOurs && error.cause === undefined ? redactValues : redact;
}

/** Whether a text contains one of the secrets. Those that are also words do not count. */
export function holdsSecret(text: string, secrets: Iterable<string>): boolean {
  const all = [...secrets];
  return collectLong(all).has(text) || all.some((secret) => secret !== '' && !isWord(secret) && text.includes(secret));
}

function collectLong(all: readonly string[]): Secrets {
  const secrets = new Secrets();
  for (const secret of all) if (secret.length > longestWord) secrets.add(secret);
  return secrets;
}

/** The encodings of the short secrets, longest first, since one may be part of another. */
function listShortForms(all: readonly string[]): string[] {
  const short = all.filter((secret) => secret !== '' && secret.length <= longestWord);
  return short.flatMap((secret) => [secret, encodeURIComponent(secret)]).sort((a, b) => b.length - a.length);
}

function hideAll(forms: readonly (string | RegExp)[], text: string): string {
  return forms.reduce<string>((clean, form) => clean.replaceAll(form, hidden), text);
}

function isWord(secret: string): boolean {
  return secret.length <= longestWord && word.test(secret);
}

function asValue(secret: string): RegExp {
  return new RegExp(`(?<=[=:/@"'&?#])${secret}(?![A-Za-z0-9])`, 'g');
}
