import { ConfigError } from '../../errors.js';
import { shownText } from '../../values.js';
import { type Instant, instantOf, isLocal, type SinceBound, type TimeFormat } from './timeFormat.js';

/** The zone of an API's times that are written without a zone. */
export interface TimeZone {
  readonly isKnown: boolean;
  /**
   * Converts a time of one format to the clock of another format, which may be local. If the zone is unknown, a `from`
   * is not too late in any zone, and a `to` not too early.
   */
  convert(instant: Instant, clocks: { readonly from: TimeFormat; readonly to: TimeFormat }, bound: SinceBound): Instant;
}

/** By how much a local clock is ahead of UTC near an instant, in ms: at least, and at most. */
type Ahead = (instant: Instant) => readonly [min: number, max: number];

const minute = 60_000;
const day = 86_400_000;

/** The offsets of all zones, from Baker Island to the Line Islands. */
const anywhere = [-12 * 60 * minute, 14 * 60 * minute] as const;

/**
 * @param given an offset, e.g. `-07:00`, `UTC`, or a name of the IANA time zone database; absent if it is unknown
 * @throws ConfigError if there is no such zone
 */
export function timeZone(given: string | undefined): TimeZone {
  const ahead = given === undefined ? () => anywhere : (offsetOf(given) ?? namedZone(given));
  return {
    isKnown: given !== undefined,
    convert(instant, { from, to }, bound) {
      if (isLocal(from) === isLocal(to)) return instant;
      const [min, max] = ahead(instant);
      if (isLocal(to)) return instant + instantOf(bound === 'from' ? min : max);
      return instant - instantOf(bound === 'from' ? max : min);
    },
  };
}

function offsetOf(given: string): Ahead | undefined {
  const [, sign, hours, minutes] = /^([+-])(\d\d):([0-5]\d)$/.exec(given) ?? [];
  if (sign === undefined) return undefined;
  const ms = Number(`${sign}1`) * (Number(hours) * 60 + Number(minutes)) * minute;
  const [min, max] = anywhere;
  return ms < min || ms > max ? undefined : () => [ms, ms];
}

/** Clocks of a named zone are set forward and back: an hour may be missing or repeated, so nearby days count. */
function namedZone(given: string): Ahead {
  const format = formatOf(given);
  return (instant) => {
    const ms = Number(instant / instantOf(1));
    const offsets = [-2 * day, -day, 0, day, 2 * day].map((near) => offsetAt(format, ms + near));
    return [Math.min(...offsets), Math.max(...offsets)];
  };
}

function formatOf(given: string): Intl.DateTimeFormat {
  try {
    return new Intl.DateTimeFormat('en-US', { timeZone: given, timeZoneName: 'longOffset' });
  } catch {
    throw new ConfigError(
      `zone of bySince is ${shownText(given)}: it must be an offset from -12:00 to +14:00, e.g. -07:00, or the name of a time zone, e.g. America/Denver.`,
    );
  }
}

/** The offset in ms. Its name is `GMT`, `GMT-07:00`, or has seconds, for times before there were zones. */
function offsetAt(format: Intl.DateTimeFormat, ms: number): number {
  const name = format.formatToParts(ms).find(({ type }) => type === 'timeZoneName')?.value ?? '';
  const [, sign = '+', hours = 0, minutes = 0, seconds = 0] = /([+-])(\d\d):(\d\d)(?::(\d\d))?$/.exec(name) ?? [];
  return Number(`${sign}1`) * ((Number(hours) * 60 + Number(minutes)) * 60 + Number(seconds)) * 1_000;
}
