import type { Limit } from '@sluice/core';
import { UsageError } from '../errors/errors.js';

/** An option of a command. Its name is its key where it is declared: `pageSize` is `--page-size`. */
export interface Option<Value> extends Traits {
  readonly help: string;
  /** What stands for the value in the help; absent for a switch. */
  readonly placeholder?: string;
  readonly choices?: readonly Value[];
  /** `before`: the values of the same option that came before it. */
  readonly parse?: (text: string, before: readonly string[] | undefined) => Value;
}

/** What does not depend on an option's kind. Options of the same name have the same traits. */
interface Traits {
  /** It is about a single run, so it cannot be a default: nobody would expect it in a configuration file later. */
  readonly isForOneRun?: true;
  /** It applies only to this kind of target, or only if state is stored. */
  readonly about?: OptionSubject;
  /** The environment variable that sets the same. It takes precedence over a default. */
  readonly variable?: string;
  /** It is a path, which in a configuration is relative to its folder. */
  readonly isPath?: true;
  /** The value may be left out. */
  readonly isValueOptional?: true;
  /** It takes several values, one after the other. */
  readonly isVariadic?: true;
  /** The switch is `--no-NAME`: it disables what is on by default. */
  readonly isOff?: true;
  /** Help of a second flag, `--no-NAME`. */
  readonly off?: string;
}

/** The value of an option. */
export type ValueOf<Of> = Of extends Option<infer Value> ? Value : never;

/** What a table of options of the library has to be: a name or a value that it does not have will not compile. */
export type OptionsFor<Library> = { readonly [Name in keyof Library]?: Option<Library[Name]> };

export type OptionSubject = 'file' | 'table' | 'webhook' | 'state';
export const ofFile = { about: 'file' } as const;
export type OptionTable = Readonly<Record<string, Option<unknown>>>;

/** A kind of options: its placeholder, and how a value is parsed. */
function kind<Value>(placeholder: string, parse: NonNullable<Option<Value>['parse']>, ofKind: Traits = {}) {
  return (help: string, traits: Traits = {}): Option<Value> => ({ help, placeholder, parse, ...ofKind, ...traits });
}

export const count = kind('n', parseNumber);
export const share = kind('share', parseNumber);
export const file = kind('file', asText, { isPath: true });
/** A file that `--no-NAME` disables. */
export const fileOrNone = kind<string | boolean>('file', asText, { isPath: true });
export const url = kind('url', asText);
export const rowsOrShare = kind('rows', parseRowsOrShare);
export const rate = kind('rate', parseRate);
export const duration = kind('duration', parseDuration);
export const span = kind('duration', parseSpan);
export const timeOrForever = kind('duration', parseTimeOrForever);
export const size = kind('size', parseSize);
export const latency = kind('duration', parseLatency);
export const shares = kind('shares', parseShares);
export const port = kind<number | true>('port', parsePort, { isValueOptional: true });
export const listenAddress = kind('address', parseListenAddress);
export const addresses = kind('address', collect, { isVariadic: true });
/** Repeatable. */
export const texts = (placeholder: string) => kind(placeholder, collect);
export const parameters = kind('name=value', collect, { isForOneRun: true });
/** Repeatable; each value is a list. */
export const lists = kind('list', collectLists);

export function text(placeholder: string, help: string, traits?: Traits): Option<string> {
  return kind(placeholder, asText)(help, traits);
}

/** `a,b,c` */
export function list(placeholder: string, help: string, traits?: Traits): Option<readonly string[]> {
  return kind(placeholder, parseList)(help, traits);
}

/** A kind of options with a choice of values. */
export function choices(placeholder: string) {
  return <const Choice extends string>(
    among: readonly Choice[],
    help: string,
    traits: Traits = {},
  ): Option<Choice> => ({
    help,
    placeholder,
    choices: among,
    ...traits,
  });
}

/** A switch. */
export function flag(help: string, traits: Traits = {}): Option<boolean> {
  return { help, ...traits };
}

/** Picks the values of a table's options, as the library takes them. What is on by default is on if not given. */
export function pickFor<Table>(
  table: Table,
  values: object,
): { readonly [Name in keyof Table]: ValueOf<Table[Name]> | undefined };
export function pickFor(table: OptionTable, values: object): object {
  const given = new Map<string, unknown>(Object.entries(values));
  return Object.fromEntries(Object.entries(table).map(([name, { isOff }]) => [name, given.get(name) ?? isOff]));
}

/** The flag of an option. @example nameFlag('guardFormulas', { isOff: true }) // '--no-guard-formulas' */
export function nameFlag(name: string, { isOff }: Pick<Traits, 'isOff'> = {}): string {
  return toFlag(isOff ? `no-${name}` : name);
}

/** The command line's spelling of a name. @example toFlag('pageSize') // '--page-size' */
export function toFlag(name: string): string {
  return `--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
}

const msPerUnit: ReadonlyMap<string, number> = new Map([
  ['ms', 1],
  ['s', 1000],
  ['m', 60_000],
  ['h', 3_600_000],
  ['d', 86_400_000],
]);

/**
 * A duration in ms. A number without a unit is refused: it could be seconds or ms.
 *
 * @throws UsageError unless it is a number and `ms`, `s`, `m`, `h` or `d`.
 * @example parseDuration('1.5s') // 1500
 */
export function parseDuration(text: string): number {
  const [, number, unit] = /^(\d+(?:\.\d+)?)(ms|s|m|h|d)$/.exec(text.trim()) ?? [];
  const ms = Number(number) * (msPerUnit.get(unit ?? '') ?? NaN);
  if (!Number.isFinite(ms)) throw new UsageError('Give a number with its unit: 300ms, 30s, 5m, 1h or 1d.');
  return ms;
}

/** A duration, or `forever`. @throws UsageError if it is neither. */
function parseTimeOrForever(text: string): number {
  return text.trim() === 'forever' ? Infinity : parseDuration(text);
}

/** A duration above zero. @throws UsageError if it is not. */
export function parseSpan(text: string): number {
  const ms = parseDuration(text);
  if (ms === 0) throw new UsageError('It must be longer than zero.');
  return ms;
}

const sizeUnits: readonly string[] = ['', 'k', 'M', 'G', 'T'];

/**
 * A size in bytes, above zero. A number without a unit is refused.
 *
 * @throws UsageError unless it is a number and `B`, `kB`, `MB`, `GB` or `TB`.
 * @example parseSize('1.5GB') // 1_500_000_000
 */
function parseSize(text: string): number {
  const [, number, unit = ''] = /^(\d+(?:\.\d+)?)([kMGT]?)B$/.exec(text.trim().replace(/K(?=B$)/, 'k')) ?? [];
  const bytes = Math.round(Number(number) * 1_000 ** sizeUnits.indexOf(unit));
  if (!(bytes > 0)) throw new UsageError('Give a number above zero with its unit: 500MB or 2GB.');
  return bytes;
}

/**
 * A latency in ms: fixed, or the bounds of a random one.
 *
 * @throws UsageError unless it is a duration, or two with `..` between them.
 * @example parseLatency('5ms..40ms') // [5, 40]
 */
export function parseLatency(text: string): number | readonly [number, number] {
  const [first = '', second, ...rest] = text.split('..');
  if (second === undefined) return parseDuration(first);
  const min = parseDuration(first);
  const max = parseDuration(second);
  if (rest.length > 0 || min > max) throw new UsageError('Give the shorter one first, like 5ms..40ms.');
  return [min, max];
}

/** The items of `a,b,c`. @throws UsageError if one is empty. */
export function parseList(text: string): readonly string[] {
  const items = text.split(',').map((item) => item.trim());
  if (items.includes('')) throw new UsageError('Give names with commas between them, like a,b,c.');
  return items;
}

/**
 * A plain number. The code that uses it checks its range.
 *
 * @throws UsageError for anything that is not written in digits, like `1e3`, `0x10` or nothing.
 */
export function parseNumber(text: string): number {
  if (!/^-?\d{1,15}(\.\d{1,15})?$/.test(text.trim())) throw new UsageError('Give a number.');
  return Number(text);
}

/** A number, or a percentage as text. @throws UsageError if it is neither. */
function parseRowsOrShare(text: string): number | `${number}%` {
  const [, number = '', percent] = /^(-?\d{1,15}(?:\.\d{1,15})?)(%?)$/.exec(text.trim()) ?? [];
  if (number === '') throw new UsageError('Give a whole number of rows, or a share from 0% to 100%, as 50% or 0.5.');
  return percent === '%' ? `${Number(number)}%` : Number(number);
}

/** @throws UsageError unless it is a port, or 0 for any that is free. */
export function parsePort(text: string): number {
  const port = /^\d{1,5}$/.test(text) ? Number(text) : Infinity;
  if (port > 65_535) throw new UsageError('Give a port from 0 to 65535, or none.');
  return port;
}

/** Where to listen. */
export interface ListenAddress {
  readonly host: string;
  readonly port: number;
}

/**
 * A port on this machine alone, or with a host before it.
 *
 * @throws UsageError if it is neither.
 * @example parseListenAddress('[::]:8080') // { host: '::', port: 8080 }
 */
function parseListenAddress(text: string): ListenAddress {
  const [, ipv6, name, port = ''] = /^(?:(?:\[([\da-f:.]+)\]|([\w.-]+)):)?(\d{1,5})$/i.exec(text.trim()) ?? [];
  if (port === '' || Number(port) > 65_535)
    throw new UsageError('Give a port, or HOST:PORT, like 8080 or 0.0.0.0:8080.');
  return { host: ipv6 ?? name ?? '127.0.0.1', port: Number(port) };
}

/** Requests in a window of `per` ms. */
export type Rate = Pick<Limit, 'requests' | 'per'>;

/**
 * A rate of requests; `false` for `unlimited`.
 *
 * @throws UsageError unless it is a whole number above zero, `/`, and `s`, `m`, `h` or `d`.
 * @example parseRate('25/s') // { requests: 25, per: 1000 }
 */
export function parseRate(text: string): Rate | false {
  const wanted = text.trim();
  if (wanted === 'unlimited') return false;
  const [, number, unit] = /^(\d{1,9})\/(s|m|h|d)$/.exec(wanted) ?? [];
  const requests = Number(number);
  const per = msPerUnit.get(unit ?? '');
  if (per === undefined || !(requests > 0))
    throw new UsageError('Give requests per second, minute, hour or day, like 25/s, 100/m or 40000/d, or unlimited.');
  return { requests, per };
}

/**
 * Names with their shares of all requests. The code that uses them checks the names.
 *
 * @throws UsageError unless each is a name, `=` and a number from 0 to 1.
 * @example parseShares('serverError=0.05,reset=0.01') // { serverError: 0.05, reset: 0.01 }
 */
export function parseShares(text: string): Readonly<Record<string, number>> {
  return Object.fromEntries(
    text.split(',').map((item) => {
      const [, name, share] = /^\s*([a-z]+)=(0|1|[01]?\.\d+)\s*$/i.exec(item) ?? [];
      if (name === undefined || !(Number(share) <= 1))
        throw new UsageError('Give names with shares from 0 to 1, like serverError=0.05,reset=0.01.');
      return [name, Number(share)];
    }),
  );
}

function asText(text: string): string {
  return text;
}

/** Collects the values of a repeatable option. */
function collect(text: string, before: readonly string[] = []): readonly string[] {
  return [...before, text];
}

/** Collects the items of a repeatable option whose values are lists. @throws UsageError if an item is empty. */
function collectLists(text: string, before: readonly string[] = []): readonly string[] {
  return [...before, ...parseList(text)];
}
