import type { HttpEvent } from '@sluice/core';
import type { DeadLetter } from '@sluice/exporters/webhook';
import { type Observable, Subject } from 'rxjs';
import { redact } from '../errors/redact.js';
import { outageSentences } from '../progress/notices.js';
import type { Deliveries } from '../progress/exportProgress.js';
import { formatCount } from '../terminal/format.js';
import { quoteForShell, visibleText } from '../terminal/text.js';

/** Live counts of a forward. */
interface DeliveryTally extends Deliveries {
  /** Records that the webhook refused. */
  readonly deadLetters: number;
  readonly letters: Observable<DeadLetter>;
  /** A sentence when an outage begins, and one when it is over. */
  readonly outages: Observable<string>;
}

/** Counts the events of a webhook from now on. */
export function tallyDeliveries(): {
  readonly tally: DeliveryTally;
  readonly onEvent: (event: HttpEvent) => void;
  readonly onDeadLetter: (letter: DeadLetter) => void;
} {
  const letters = new Subject<DeadLetter>();
  const outages = new Subject<string>();
  const describeOutage = outageSentences();
  const tally = {
    deliveries: 0,
    redeliveries: 0,
    deadLetters: 0,
    letters,
    outages,
  };
  return {
    tally,
    onEvent: (event) => {
      const { type } = event;
      const sentence = describeOutage(event);
      if (sentence !== undefined) outages.next(sentence);
      if (type === 'attempt') tally.deliveries += 1;
      if (type === 'retry') tally.redeliveries += 1;
    },
    onDeadLetter: (letter) => {
      tally.deadLetters += 1;
      letters.next(letter);
    },
  };
}

export interface ForwardPlaces {
  /** The folder of the state, or a plugin's store. */
  readonly state: string;
  /** The file of records that the webhook refuses. */
  readonly deadLetters: string;
}

/** A running forward. */
export interface Forwarding extends ForwardPlaces {
  readonly tally: DeliveryTally;
}

/** Warns of each dead letter, and of outages of the webhook, from now on. */
export function warnOfLetters(
  { tally, deadLetters }: Forwarding,
  warn: (message: string) => void,
  secrets: ReadonlySet<string>,
): void {
  tally.outages.subscribe((sentence) => {
    warn(visibleText(redact(sentence, secrets)));
  });
  tally.letters.subscribe((letter) => {
    warn(visibleText(redact(deadLetterWarning(letter, deadLetters), secrets)));
  });
}

export function deadLetterWarning({ id, attempts, status, answer }: DeadLetter, file: string): string {
  if (attempts === 0) return `Record ${id} was parked in ${file}: one before it with its key was refused.`;
  const said = answer === '' ? '' : ` ("${answer}")`;
  return `Record ${id} was refused with ${String(status)}${said}, and set aside in ${file}.`;
}

/** How many dead letters this run has written. */
export function setAside(count: number, file: string): string {
  return `${formatCount(count, 'record was', 'records were')} set aside in ${file}.`;
}

/** How many dead letters there are, and what to do with them. @param command how to call `sluice` here. */
export function deadLetterSummary(count: number, file: string, command: string): string {
  const them = count === 1 ? 'it' : 'them';
  const name = quoteForShell(file);
  return `${formatCount(count, 'record was', 'records were')} not taken and ${count === 1 ? 'is' : 'are'} kept in ${file}: look at ${them} with "${command} dlq show ${name}", and send ${them} again with "${command} dlq replay ${name} --to URL --secret-file FILE".`;
}
