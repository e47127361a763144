import { ConfigError } from '../../errors.js';
import { checkCount, checkOptions } from '../../checks.js';
import type { SinceWindow } from '../../rows/source/increment.js';
import { shownText } from '../../values.js';
import { instantOfSince, type SinceRule, type SinceType } from './sinceValue.js';
import {
  type Instant,
  instantOf,
  isTimeFormat,
  printTime,
  type TimeFormat,
  timeFormats,
  wholeSteps,
} from './timeFormat.js';
import type { TimeZone } from './timeZone.js';

/** How {@link bySince} divides a listing. */
export interface WindowOptions {
  /**
   * Where a request has the end of a window: another parameter, header, or place in the body than for its beginning,
   * e.g. `created[lt]`. Default: in the text of `write`, e.g. `updated >= {epoch-ms} AND updated < {to:epoch-ms}`.
   */
  readonly to?: string;
  /**
   * The length of a window: a time with its unit (`s`, `m`, `h` or `d`), e.g. `30d`, or ms. No request covers more,
   * unless it has times of an unknown zone and the step is shorter than some four days: then give `zone`.
   */
  readonly step: number | WindowStep;
}

type WindowStep = `${number}${'s' | 'm' | 'h' | 'd'}`;

/** More windows would take more requests than anybody wants. */
const maxWindows = 100_000;

/**
 * The windows from a value on, without a gap. Rows that change during the walk move into windows that begin after its
 * beginning, or into the last one before these. Windows go on until at least half a step after the beginning of the
 * walk, by any clock that the rows' times may have, and the very last one is open.
 *
 * @param moment wall time in ms at which the walk began
 */
export type ListWindows = (from: string, moment: number) => readonly SinceWindow[];

interface WindowedField {
  readonly type: SinceType;
  readonly rule: SinceRule;
  readonly begin: string | undefined;
  readonly zone: TimeZone;
  /** How late rows may appear, in ms. */
  readonly overlap: number;
  /** The formats of both ends in requests. Default: the rows' format. */
  readonly written: readonly TimeFormat[];
}

/** @throws ConfigError if the windows can't be walked. */
export function sinceWindows(
  windows: WindowOptions,
  { type, rule, begin, zone, overlap, written }: WindowedField,
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
  const endOf = windowEnd(type, { step, zone, written });
  // Rows may appear late, and the API's clock may be behind ours.
  const margin = instantOf(overlap) < step / 2n ? instantOf(overlap) : step / 2n;
  return (from, moment) => {
    const nowOf = (bound: 'from' | 'to'): Instant =>
      zone.convert(instantOf(moment), { from: 'instant', to: type }, bound);
    const closing = wholeSteps(nowOf('from') - margin, seconds, 'from');
    const isLast = (start: Instant): boolean => endOf(start) >= nowOf('to') + step / 2n;
    const listed: SinceWindow[] = [];
    let start = rule.given(from) ?? from;
    let at = instantOfSince(type, start) ?? 0n;
    const close = (end: Instant): void => {
      if (listed.length >= maxWindows)
        throw new ConfigError(
          `The windows of bySince would be more than ${maxWindows} from ${from} on. Make step longer, or begin later.`,
        );
      const to = printTime(type, end, 'from');
      listed.push({ from: start, to });
      start = to;
      at = end;
    };
    while (endOf(at) <= closing) close(endOf(at));
    // One window that may have changes suffices if it begins late.
    if (!isLast(at) && at < closing && isLast(closing)) close(closing);
    while (!isLast(at)) close(endOf(at));
    return [...listed, { from: start, to: printTime(type, endOf(at), 'from'), isOpen: true }];
  };
}

/** The end of a window that begins at a time: so early that its request covers at most a step, if that is possible. */
function windowEnd(
  type: TimeFormat,
  { step, zone, written }: { readonly step: Instant } & Pick<WindowedField, 'zone' | 'written'>,
): (at: Instant) => Instant {
  const coarsest = written.toSorted((a, b) => timeFormats[b].step - timeFormats[a].step)[0];
  const { step: seconds } = timeFormats[type];
  return (at) => {
    const longest = wholeSteps(at + step, seconds, 'from');
    if (coarsest === undefined) return longest;
    const size = timeFormats[coarsest].step;
    const clocks = { from: type, to: coarsest };
    const limit = wholeSteps(wholeSteps(zone.convert(at, clocks, 'from'), size, 'from') + step, size, 'from');
    const within = (end: Instant): Instant => limit - (zone.convert(end, clocks, 'to') - end);
    // Clocks may be set forward or back near the end.
    const end = wholeSteps(smaller(longest, smaller(within(longest), within(within(longest)))), seconds, 'from');
    const spread = zone.convert(at, clocks, 'to') - zone.convert(at, clocks, 'from');
    return end > at && step >= 2n * spread ? end : longest;
  };
}

function smaller(a: Instant, b: Instant): Instant {
  return a < b ? a : b;
}

/** A length in ms. @throws ConfigError if it is invalid. */
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
