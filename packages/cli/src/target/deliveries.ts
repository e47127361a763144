import type { HttpEvent } from '@sluice/core/kit';
import type { DeadLetter } from '@sluice/exporters/webhook';
import { type Observable, Subject } from 'rxjs';
import { outageSentences } from '../progress/notices.js';
import { formatCount } from '../terminal/format.js';
import { quoteForShell } from '../terminal/text.js';

/**
 * Listeners of a webhook, and a sentence about each dead letter, one when an outage begins, and one when it is over.
 *
 * @param file of the dead letters.
 */
export function describeDeliveries(file: string) {
  const warnings = new Subject<string>();
  const describeOutage = outageSentences();
  return {
    warnings,
    onEvent: (event: HttpEvent): void => {
      const sentence = describeOutage(event);
      if (sentence !== undefined) warnings.next(sentence);
    },
    onDeadLetter: (letter: DeadLetter): void => {
      warnings.next(deadLetterWarning(letter, file));
    },
  };
}

export interface ForwardPlaces {
  /** The folder of the state, or what else has it. */
  readonly state: string;
  /** The file of records that the webhook refuses, or the state that has them. */
  readonly deadLetters: string;
}

/** A running forward. */
export interface Forwarding extends ForwardPlaces {
  readonly warnings: Observable<string>;
}

export function deadLetterWarning({ id, attempts, status, answer }: DeadLetter, file: string): string {
  if (attempts === 0) return `Record ${id} was parked in ${file}: one before it with its key was refused.`;
  const said = answer === '' ? '' : ` ("${answer}")`;
  return `Record ${id} was refused with ${String(status)}${said}, and set aside in ${file}.`;
}

/** How many dead letters this run has written; `undefined` if none. */
export function setAside(count: number, places: ForwardPlaces | undefined): string | undefined {
  if (!places || count === 0) return undefined;
  return `${formatCount(count, 'record was', 'records were')} set aside in ${places.deadLetters}.`;
}

/** How many dead letters there are, and what to do with them. @param command how to call `sluice` here. */
export function deadLetterSummary(count: number, file: string, command: string): string {
  const them = count === 1 ? 'it' : 'them';
  const name = quoteForShell(file);
  return `${formatCount(count, 'record was', 'records were')} not taken and ${count === 1 ? 'is' : 'are'} kept in ${file}: look at ${them} with "${command} dlq show ${name}", and send ${them} again with "${command} dlq replay ${name} --to URL --secret-file FILE".`;
}
