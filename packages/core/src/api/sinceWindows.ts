import { ConfigError } from '../errors.js';
import { checkCount, checkOptions } from '../checks.js';
import type { SinceWindow } from '../source/increment.js';
import { shownText } from '../values.js';
import { instantOfSince, type SinceRule, type SinceType } from './sinceValue.js';
import { instantOf, isTimeFormat, printTime, timeFormats } from './timeFormat.js';

/** How {@link bySince} divides a listing. */
export interface WindowOptions {
  /**
   * Where a request has the end of a window, beside its beginning: another parameter, header, or place in the body, e.g.
   * `created[lt]`. Default: in the text of `write`, e.g. `updated >= {epoch-ms} AND updated < {to:epoch-ms}`.
   */
  readonly to?: string;
  /** The length of a window: a time with its unit (`s`, `m`, `h` or `d`), e.g. `30d`, or ms. No window is longer. */
  readonly step: number | WindowStep;
}

type WindowStep = `${number}${'s' | 'm' | 'h' | 'd'}`;

/** A listing with more windows would take more requests than anybody wants. */
const maxWindows = 100_000;

/**
 * The windows from a value on: those that end before rows may still appear in them, and an open one, which is walked
 * last. It has at least half a step left for rows that change while the others are walked.
 *
 * @param moment wall time in ms before which all rows have appeared
 */
export type ListWindows = (from: string, moment: number) => readonly SinceWindow[];

/** @throws ConfigError if the windows can't be walked. */
export function sinceWindows(
  windows: WindowOptions,
  { type, rule, begin }: { readonly type: SinceType; readonly rule: SinceRule; readonly begin: string | undefined },
): ListWindows {
  checkOptions('windows of bySince()', windows, { to: 'text?', step: 'text or a number' });
  const { step: given } = windows;
  if (!isTimeFormat(type))
    throw new ConfigError(`bySince takes no windows for values of type ${type}: only times have steps.`);
  if (begin === undefined)
    throw new ConfigError("bySince needs begin, e.g. begin: '2024-01-01', where its windows start.");
  const step = instantOf(parseStep(given));
  const { step: seconds } = timeFormats[type];
  if (step % instantOf(seconds * 1_000) !== 0n)
    throw new ConfigError(
      `step of windows is ${shownText(String(given))}: for values of type ${type} it must be ${type === 'date' ? 'whole days' : 'whole seconds'}.`,
    );
  return (from, moment) => {
    const closing = instantOf(moment);
    const closed: SinceWindow[] = [];
    let start = from;
    let at = instantOfSince(type, rule.given(from) ?? from) ?? 0n;
    const close = (end: bigint): void => {
      const to = printTime(type, end, 'from');
      closed.push({ from: start, to });
      start = to;
      at = end;
    };
    while (at + step <= closing) {
      if (closed.length >= maxWindows)
        throw new ConfigError(
          `The windows of bySince would be more than ${maxWindows} from ${from} on. Make step longer, or begin later.`,
        );
      close(at + step);
    }
    if (closing - at > step / 2n && rule.compare(printTime(type, closing, 'from'), start) > 0) close(closing);
    return [...closed, { from: start, to: printTime(type, at + step, 'from'), isOpen: true }];
  };
}

/** A length in ms. @throws ConfigError if it is none. */
function parseStep(given: number | string): number {
  if (typeof given === 'number') {
    checkCount('step', given);
    return given;
  }
  const [, count, unit = ''] = /^(\d{1,9})([smhd])$/.exec(given) ?? [];
  const ms = Number(count) * ({ s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 }[unit] ?? NaN);
  if (ms > 0) return ms;
  throw new ConfigError(
    `step of windows is ${shownText(given)}: write a number with its unit, e.g. 30d, 12h, 15m or 10s.`,
  );
}
