import type { Client, EventOf } from '@sluice/core';
import type { HttpEvent, OutageEvent } from '@sluice/core/kit';
import { distinctUntilChanged, filter, map, type Observable, ReplaySubject } from 'rxjs';
import { thrownText } from '../errors/thrown.js';
import { formatDuration } from '../terminal/format.js';
import { visibleText } from '../terminal/text.js';

/** A sentence about an event of a client. */
export interface Notice {
  readonly level: 'warning' | 'info';
  readonly message: string;
  /** It says that an outage has begun, or is over. */
  readonly outage?: 'begun' | 'over' | undefined;
}

const maxBuffered = 100;
const noticed = ['warning', 'info', 'plugin-fault', 'retry', 'settled', 'outage'] as const;

/**
 * The warnings and notes of a client and its plugins, from now on. Drops a warning that repeats the one before, and
 * reports each failing hook of a plugin once. Replays earlier notices to later subscribers.
 */
export function followNotices(client: Client): Observable<Notice> {
  const notices = new ReplaySubject<Notice>(maxBuffered);
  const reported = new Set<string>();
  const describeOutage = outageSentences();
  const describeTarget = targetSentences();
  const describe = (event: EventOf<(typeof noticed)[number]>): string | undefined => {
    if (event.type === 'warning') return event.message;
    if (event.type === 'info') return `${event.plugin}: ${event.message}`;
    if (event.type === 'outage') return describeTarget(event);
    if (event.type !== 'plugin-fault') return describeOutage(event);
    const { plugin, hook, error } = event;
    const where = `${plugin} ${hook}`;
    // A plugin that fails to dispose ends the command with that error.
    if (hook === 'dispose' || reported.has(where)) return undefined;
    reported.add(where);
    return `The plugin "${plugin}" fails in its hook "${hook}", which changes nothing else: ${thrownText(error.message)}`;
  };
  client
    .eventsOf(...noticed)
    .pipe(
      // Most requests settle without one.
      map((event): Notice | undefined => {
        const message = describe(event);
        const level = event.type === 'info' ? 'info' : 'warning';
        return message === undefined ? undefined : { level, message: visibleText(message), outage: outageOf(event) };
      }),
      filter((notice) => notice !== undefined),
      distinctUntilChanged((before, note) => note.level === 'warning' && note.message === before.message),
    )
    .subscribe(notices);
  return notices;
}

function outageOf(event: EventOf<(typeof noticed)[number]>): Notice['outage'] {
  if (event.type === 'outage') return event.cause === undefined ? 'over' : 'begun';
  return event.type === 'retry' ? 'begun' : event.type === 'settled' ? 'over' : undefined;
}

/** Failures that pass within a few attempts are not reported. */
const quietAttempts = 3;

/**
 * Returns a function from events to sentences: one when an outage begins, with its reason and how long the client will
 * wait, and one when it is over. Parallel requests share one outage.
 */
export function outageSentences(): (event: HttpEvent) => string | undefined {
  let isReported = false;
  return (event) => {
    if (event.type === 'retry' && event.attempt >= quietAttempts && !isReported) {
      isReported = true;
      // The service sets the length of a pause, most of which does not count for --retry-for.
      const isPause = event.reason === 'rate-limited';
      const howLong = isPause ? 'as long as the service asks' : textOfLeft(event.left);
      return `Waiting ${howLong}: ${event.error.summary ?? event.error.message}`;
    }
    if (event.type !== 'settled' || !isReported) return undefined;
    isReported = false;
    return event.outcome === 'answered' ? 'The outage is over: the service responds again.' : undefined;
  };
}

function textOfLeft(left: number): string {
  return left === Infinity ? 'until it passes' : `for up to ${formatDuration(left)} more (--retry-for)`;
}

/** An outage of a target that is shorter is not reported, in ms. */
const quietOutage = 1_000;

/** The same for a target that is not an endpoint, e.g. a table. */
function targetSentences(): (event: OutageEvent) => string | undefined {
  let isReported = false;
  return ({ cause, for: lasted = 0, left = 0, error }) => {
    const isOver = cause === undefined;
    if (isOver !== isReported || (!isOver && (lasted < quietOutage || left === 0))) return undefined;
    isReported = !isOver;
    return isOver
      ? 'The outage is over: the target takes rows again.'
      : `Waiting ${textOfLeft(left)}: ${error?.summary ?? cause}`;
  };
}
