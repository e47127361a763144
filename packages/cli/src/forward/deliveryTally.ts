import type { HttpEvent } from '@sluice/core';
import type { DeadLetter } from '@sluice/exporters/webhook';
import { outageSentences } from '../terminal/outageSentences.js';
import { Subject, type Observable } from 'rxjs';

/** What the deliveries of a run came to so far. Live. */
export interface DeliveryTally {
  /** Requests sent to the endpoint. */
  readonly deliveries: number;
  /** Those of them that repeated one that had failed. */
  readonly redeliveries: number;
  /** Records that the endpoint did not take. */
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
