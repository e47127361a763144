import type { Client, ClientEvent, HttpEvent } from '@sluice/core';
import { concatMap, distinctUntilChanged, from, type Observable, ReplaySubject, startWith } from 'rxjs';
import type { Environment } from '../environment/environment.js';
import { thrownText } from '../errors/thrown.js';
import { formatDuration } from '../terminal/format.js';
import { visibleText } from '../terminal/text.js';

/** What those who watch a client are told, in a sentence. */
export interface Notice {
  readonly level: 'warning' | 'info';
  readonly message: string;
}

const maxKept = 100;

/**
 * What a client and its plugins have to say from now on; a warning that comes again and again, and what a hook of a plugin fails with,
 * once. Whoever subscribes later gets the earlier ones too.
 */
export function noticesOf(client: Client): Observable<Notice> {
  const notices = new ReplaySubject<Notice>(maxKept);
  const reported = new Set<string>();
  const sentenceOf = outageSentences();
  client.events
    .pipe(
      concatMap((event) => from(noticeOf(event, reported, sentenceOf))),
      distinctUntilChanged((before, note) => note.level === 'warning' && note.message === before.message),
    )
    .subscribe(notices);
  return notices;
}

/** What the notices come behind. */
interface WarnedOf {
  /** What people may want to know, and can do without. */
  readonly hint?: string | undefined;
  readonly warning: string | undefined;
  /** Nothing but faults is told. */
  readonly isQuiet: boolean | undefined;
}

/** The notices behind a hint and a warning, if there are any. Where nothing would be told of them, the warning is told at once all the same. */
export function afterWarning(
  notices: Observable<Notice>,
  { hint, warning, isQuiet = false }: WarnedOf,
  { stderr }: Pick<Environment, 'stderr'>,
): Observable<Notice> {
  if (hint !== undefined) notices = notices.pipe(startWith<Notice>({ level: 'info', message: hint }));
  if (warning === undefined) return notices;
  if (!isQuiet) return notices.pipe(startWith<Notice>({ level: 'warning', message: warning }));
  stderr.tell(`sluice: ${warning}\n`);
  return notices;
}

function noticeOf(event: ClientEvent, reported: Set<string>, sentenceOf: ReturnType<typeof outageSentences>): Notice[] {
  switch (event.type) {
    case 'warning':
      return [{ level: 'warning', message: visibleText(event.message) }];
    case 'info':
      return [{ level: 'info', message: visibleText(`${event.plugin}: ${event.message}`) }];
    case 'plugin-fault': {
      const { plugin, hook, error } = event;
      const where = `${plugin} ${hook}`;
      // What it could not be disposed of for ends the command.
      if (hook === 'dispose' || reported.has(where)) return [];
      reported.add(where);
      const message = `The plugin "${plugin}" fails in its hook "${hook}", which changes nothing else: ${thrownText(error.message)}`;
      return [{ level: 'warning', message: visibleText(message) }];
    }
    case 'retry':
    case 'settled': {
      const message = sentenceOf(event);
      return message === undefined ? [] : [{ level: 'warning', message: visibleText(message) }];
    }
    default:
      return [];
  }
}

/** Faults that pass within a few attempts are nobody's concern. */
const quietAttempts = 3;

/**
 * Says that an outage is waited out, once, why, and for how long; and that it is over. Requests under way at once meet the same outage.
 *
 * @returns what there is to say of an event, if anything.
 */
export function outageSentences(): (event: HttpEvent) => string | undefined {
  let isReported = false;
  return (event) => {
    if (event.type === 'retry' && event.attempt >= quietAttempts && !isReported) {
      isReported = true;
      // The service sets a pause's length, and --retry-for counts little of it.
      const isPause = event.reason === 'rate-limited';
      const isEndless = event.left === Infinity;
      const howLong = isPause
        ? 'as long as the service asks'
        : isEndless
          ? 'until it passes'
          : `for up to ${formatDuration(event.left)} more (--retry-for)`;
      return `Waiting ${howLong}: ${event.error.summary ?? event.error.message}`;
    }
    if (event.type !== 'settled' || !isReported) return undefined;
    isReported = false;
    return event.outcome === 'answered' ? 'The outage is over: the service responds again.' : undefined;
  };
}
