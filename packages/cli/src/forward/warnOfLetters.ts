import { scrubbed } from '../faults/scrubbed.js';
import { visibleText } from '../terminal/visibleText.js';
import { deadLetterWarning } from './deadLetterSentences.js';
import type { Forwarding } from './forwarding.js';

/** Warns of each record that is set aside from now on, as soon as it is. */
export function warnOfLetters(
  { tally, deadLetters }: Forwarding,
  warn: (message: string) => void,
  secrets: ReadonlySet<string>,
): void {
  tally.letters.subscribe((letter) => {
    warn(visibleText(scrubbed(deadLetterWarning(letter, deadLetters), secrets)));
  });
}
