import type { HttpEvent } from '@sluice/core/kit';
import type { DeadLetter } from '@sluice/exporters/webhook';
import { type Observable, Subject } from 'rxjs';
import { outageSentences } from '../progress/notices.js';
import type { Deliveries } from '../progress/exportProgress.js';
import { formatCount } from '../terminal/format.js';
import { quoteForShell } from '../terminal/text.js';

/** Live counts of a forward. */
interface DeliveryTally extends Deliveries {
  /** Records that the webhook refused. */
  readonly deadLetters: number;
  /** A sentence about each of these, one when an outage begins, and one when it is over. */
  readonly warnings: Observable<string>;
}

/** Counts the events of a webhook from now on. @param file of the dead letters. */
export function tallyDeliveries(file: string): {
  readonly tally: DeliveryTally;
  readonly onEvent: (event: HttpEvent) => void;
  readonly onDeadLetter: (letter: DeadLetter) => void;
} {
  const warnings = new Subject<string>();
  const describeOutage = outageSentences();
  const tally = { deliveries: 0, redeliveries: 0, deadLetters: 0, warnings };
  return {
    tally,
    onEvent: (event) => {
      const { type } = event;
      const sentence = describeOutage(event);
      if (sentence !== undefined) warnings.next(sentence);
      if (type === 'attempt') tally.deliveries += 1;
      if (type === 'retry') tally.redeliveries += 1;
    },
    onDeadLetter: (letter) => {
      tally.deadLetters += 1;
      warnings.next(deadLetterWarning(letter, file));
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

export function deadLetterWarning({ id, attempts, status, answer }: DeadLetter, file: string): string {
  if (attempts === 0) return `Record ${id} was parked in ${file}: one before it with its key was refused.`;
  const said = answer === '' ? '' : ` ("${answer}")`;
  return `Record ${id} was refused with ${String(status)}${said}, and set aside in ${file}.`;
}

/** How many dead letters this run has written; `undefined` if none. */
export function setAside(forwarding: Forwarding | undefined): string | undefined {
  if (!forwarding || forwarding.tally.deadLetters === 0) return undefined;
  return `${formatCount(forwarding.tally.deadLetters, 'record was', 'records were')} set aside in ${forwarding.deadLetters}.`;
}

/** How many dead letters there are, and what to do with them. @param command how to call `sluice` here. */
export function deadLetterSummary(count: number, file: string, command: string): string {
  const them = count === 1 ? 'it' : 'them';
  const name = quoteForShell(file);
  return `${formatCount(count, 'record was', 'records were')} not taken and ${count === 1 ? 'is' : 'are'} kept in ${file}: look at ${them} with "${command} dlq show ${name}", and send ${them} again with "${command} dlq replay ${name} --to URL --secret-file FILE".`;
}
