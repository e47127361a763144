import type { HttpEvent } from '@sluice/core';
import type { DeadLetter } from '@sluice/exporters/webhook';
import { type Observable, Subject } from 'rxjs';
import { scrubbed } from '../errors/redact.js';
import { outageSentences } from '../progress/notices.js';
import { formatCount } from '../terminal/format.js';
import { shellQuoted, visibleText } from '../terminal/text.js';

/** What the deliveries of a run came to so far. Live. */
interface DeliveryTally {
  /** Requests sent to the webhook. */
  readonly deliveries: number;
  /** Those of them that repeated one that had failed. */
  readonly redeliveries: number;
  /** Records that the webhook did not take. */
  readonly deadLetters: number;
  readonly letters: Observable<DeadLetter>;
  /** Says that an outage is waited out, and when it is over. */
  readonly outages: Observable<string>;
}

/** Counts from now on what a webhook tells. */
export function tallyDeliveries(): {
  readonly tally: DeliveryTally;
  readonly onEvent: (event: HttpEvent) => void;
  readonly onDeadLetter: (letter: DeadLetter) => void;
} {
  const letters = new Subject<DeadLetter>();
  const outages = new Subject<string>();
  const sentenceOf = outageSentences();
  const tally = { deliveries: 0, redeliveries: 0, deadLetters: 0, letters, outages };
  return {
    tally,
    onEvent: (event) => {
      const { type } = event;
      const sentence = sentenceOf(event);
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

/** Where a forward keeps what it has to remember, unless told otherwise. */
export interface ForwardPlaces {
  /** The folder of its state. */
  readonly state: string;
  /** The file of records that the webhook refused. */
  readonly deadLetters: string;
}

/** What is known of a forward while it runs. */
export interface Forwarding extends ForwardPlaces {
  readonly tally: DeliveryTally;
}

/** Warns of each record that is set aside from now on, as soon as it is, and of outages of the webhook. */
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

/** That a record was set aside just now. */
export function deadLetterWarning({ id, attempts, status, answer }: DeadLetter, file: string): string {
  if (attempts === 0) return `Record ${id} was parked in ${file}: one before it with its key was refused.`;
  const said = answer === '' ? '' : ` ("${answer}")`;
  return `Record ${id} was refused with ${String(status)}${said}, and set aside in ${file}.`;
}

/** How many this run has set aside, in passing. */
export function setAside(count: number, file: string): string {
  return `${formatCount(count, 'record was', 'records were')} set aside in ${file}.`;
}

/** How many are set aside, and what to do with them. @param command how the command is called here. */
export function deadLetterSummary(count: number, file: string, command: string): string {
  const them = count === 1 ? 'it' : 'them';
  const name = shellQuoted(file);
  return `${formatCount(count, 'record was', 'records were')} not taken and ${count === 1 ? 'is' : 'are'} kept in ${file}: look at ${them} with "${command} dlq show ${name}", and send ${them} again with "${command} dlq replay ${name} --to URL --secret-file FILE".`;
}
