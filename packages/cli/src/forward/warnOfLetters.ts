import { scrubbed } from '../faults/scrubbed.js';
import { visibleText } from '../terminal/visibleText.js';
import { deadLetterWarning } from './deadLetterSentences.js';
import type { Forwarding } from './forwarding.js';

/** Warns of each record that is set aside from now on, as soon as it is, and of outages of the endpoint. */
export function warnOfLetters(
  { tally, deadLetters }: Forwarding,
  warn: (message: string) => void,
  secrets: ReadonlySet<string>,
): void {
  tally.outages.subscribe((sentence) => {
    warn(visibleText(scrubbed(sentence, secrets)));
  });
  tally.letters.subscribe((letter) => {
    warn(visibleText(scrubbed(deadLetterWarning(letter, deadLetters), secrets)));
  });
}
