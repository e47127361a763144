import { parseJson, SluiceError } from '@sluice/core';
import type { ApiRequests, ApiSource, SourceDescription } from '@sluice/core/define';
import type { Environment } from '../environment/environment.js';
import { toFlag } from '../options/option.js';
import { declaredFlag } from '../options/paramFlags.js';
import { UsageError } from '../errors/errors.js';
import { listLines, readInput } from '../input/readInput.js';

type ParamDescription = NonNullable<SourceDescription['params']>[number];

/** Parameters of a source, by name. */
type Params = Readonly<Record<string, unknown>>;

/**
 * Calls `make` with the parameters, and turns errors about them into errors about their flags.
 *
 * @param texts and options: see {@link readParams}.
 */
export function withParams<R>(
  source: ApiSource,
  texts: readonly string[],
  options: readonly ('pageSize' | 'maxRows')[],
  make: (params: Params) => R,
): R {
  const description = source.describe();
  const params = readParams(texts, description, options);
  try {
    return make(params);
  } catch (error) {
    throw paramError(error, description, params, texts) ?? error;
  }
}

/** The error in terms of flags; `undefined` if it is not about a parameter. */
function paramError(
  error: unknown,
  { name, params }: SourceDescription,
  given: Params,
  texts: readonly string[],
): UsageError | undefined {
  if (!SluiceError.is(error, 'config')) return undefined;
  const { param: path, reason, option } = error.details;
  const own = params?.find((known) => known.name === option);
  if (own) return optionError(error, own, name, givenFlag(own.name, texts));
  if (typeof path !== 'string') return undefined;
  if (params?.length === 0)
    return new UsageError(
      `${name} takes no parameters. Leave out ${Object.keys(given)
        .map((param) => `--param ${param}`)
        .join(', ')}.`,
    );
  if (typeof reason !== 'string') return undefined;
  if (path === '')
    return new UsageError(
      `${name} refuses its parameters: ${reason}. Give them with --param NAME=…; "sluice sources" lists what there is.`,
    );
  const [param = path] = /^[^.[]+/.exec(path) ?? [];
  const flag = givenFlag(param, texts);
  const way = wayToGive(param, params?.find((known) => known.name === param)?.type, flag);
  if (flag === undefined) return new UsageError(`${name} needs the parameter ${path}: ${reason}. Give ${way}.`);
  const inside = path === param ? '' : ` (at ${path})`;
  return new UsageError(`${name} refuses ${flag}${inside}: ${reason}. Give ${way}.`);
}

/** For errors of a source's own check, which name an option of the library instead of a parameter. */
function optionError(
  error: SluiceError,
  param: ParamDescription,
  source: string,
  flag: string | undefined,
): UsageError | undefined {
  // Advice is added where all errors are formatted.
  if (error.advice.length > 0) return undefined;
  if (flag !== undefined) return new UsageError(`${source}: ${error.summaryWith(flag)}`);
  const { name, type, isRequired } = param;
  const way = wayToGive(name, type, declaredFlag(param));
  return new UsageError(
    isRequired ? `${source} needs the parameter ${name}. Give ${way}.` : `${source}: ${error.summary} Give ${way}.`,
  );
}

/** How a parameter was given: `--owner`, or `--param ownerAddresses`; `undefined` if it was not. */
function givenFlag(param: string, texts: readonly string[]): string | undefined {
  const found = texts.map((text) => /^(--[\w-]+)? ?([^:=]+)/.exec(text)).find((each) => each?.[2] === param);
  return found ? (found[1] ?? `--param ${param}`) : undefined;
}

/** @param type a type of JSON Schema, if the source declares it. */
function wayToGive(param: string, type: string | undefined, flag = `--param ${param}`): string {
  const [value, json] = flag.startsWith('--param ') ? [`${flag}=…`, `${flag}:=JSON`] : [`${flag} …`, `${flag} JSON`];
  switch (type) {
    case 'object':
      return json;
    case 'array':
      return `${value}, once for each`;
    case undefined:
      return `${value}, or ${param}:=JSON if it is not text`;
    default:
      return value;
  }
}

/** Options of a source that are not parameters. */
const bounds: ReadonlySet<string> = new Set(['pageSize', 'maxRows', 'maxPages']);

/**
 * Parses `--param`. A parameter that is given several times becomes a list.
 *
 * @param texts `name:=JSON`, or `name=value`, whose value is text unless the source declares a number or a boolean; after
 * `--FLAG ` if it was given with a flag of its own.
 * @param options the command's own options among the bounds of a source.
 * @example readParams(['currency=usd', 'ids:=[1,2]'], {}, ['pageSize']) // { currency: 'usd', ids: [1, 2] }
 */
export function readParams(
  texts: readonly string[],
  { params = [] }: Pick<SourceDescription, 'params'>,
  options: readonly ('pageSize' | 'maxRows')[],
): Params {
  const findType = (name: string): string | undefined => params.find((param) => param.name === name)?.type;
  const all = collectParams(texts, /^(?:--[\w-]+ )?([A-Za-z_][\w.-]*)(:?=)(.*)$/s, (name, value, isJson): unknown => {
    if (bounds.has(name)) {
      const own = options.find((option) => option === name);
      throw new UsageError(
        own
          ? `--param ${name} is an option of its own: give ${toFlag(own)}.`
          : `--param ${name} is not a parameter, and this command has no option for it. Leave it out.`,
      );
    }
    return isJson ? readJson(name, value, givenFlag(name, texts)) : convertText(value, findType(name));
  });
  return Object.fromEntries(
    all.map(([name, values]) => {
      const isList = values.length > 1 || findType(name) === 'array';
      return [name, isList && !(values.length === 1 && Array.isArray(values[0])) ? values : values[0]];
    }),
  );
}

/** The values of `--param`, with the lines of each file in its place: of `--owners-file ownerAddresses<=wallets.txt`. */
export async function readParamFiles(texts: readonly string[] = [], environment: Environment): Promise<string[]> {
  const read = texts.map(async (text) => {
    const [, start, file] = /^(--[\w-]+ [^:=<]+)<=(.*)$/s.exec(text) ?? [];
    if (start === undefined || file === undefined) return [text];
    const lines = listLines(await readInput(file, `The file ${file}`, environment));
    // Without its parameter, a source may list all that there is.
    if (lines.length === 0)
      throw new UsageError(
        `${file === '-' ? 'stdin' : `The file ${file}`} has no value for ${start.replace(/ .*/, '')}.`,
      );
    return lines.map((line) => `${start}=${line.text}`);
  });
  return (await Promise.all(read)).flat();
}

/** The query of a single request. */
type RequestQuery = NonNullable<NonNullable<Parameters<ApiRequests['get']>[1]>['query']>;

/**
 * Parses `--param` of a single request. A parameter that is given several times becomes a list.
 *
 * @example readQuery(['state=open', 'ids:=[1,2]']) // { state: 'open', ids: ['1', '2'] }
 */
export function readQuery(texts: readonly string[]): RequestQuery {
  const all = collectParams(texts, /^([^\s=:]+)(:?=)(.*)$/s, (name, value, isJson) =>
    isJson ? queryValue(name, readJson(name, value)) : value,
  );
  return Object.fromEntries(
    all.map(([name, values]) => [name, values.length === 1 ? (values[0] ?? '') : values.flat().map(String)]),
  );
}

function queryValue(name: string, value: unknown): string | number | boolean | readonly string[] {
  if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean') return value;
  if (Array.isArray(value) && value.every((item) => typeof item !== 'object')) return value.map(String);
  throw new UsageError(`--param ${name} must be text, a number, true, false or a list of these, as a query has them.`);
}

/** The values of parameters by their names, in their order. @param form a name, its sign and a value. */
function collectParams<Value>(
  texts: readonly string[],
  form: RegExp,
  read: (name: string, value: string, isJson: boolean) => Value,
): readonly (readonly [string, readonly Value[]])[] {
  const values = new Map<string, readonly Value[]>();
  for (const text of texts) {
    const [, name, sign, value] = form.exec(text) ?? [];
    if (name === undefined || value === undefined)
      throw new UsageError('--param must be name=value, or name:=JSON for anything but text, like ids:=[1,2].');
    values.set(name, [...(values.get(name) ?? []), read(name, value, sign === ':=')]);
  }
  return [...values];
}

/** A text that is not of the type, or an integer that would lose digits, stays text, so that the source refuses it. */
function convertText(text: string, type: string | undefined): unknown {
  const isNumber = (type === 'number' || type === 'integer') && text.trim() !== '' && Number.isFinite(Number(text));
  const losesDigits = /^[+-]?\d+$/.test(text) && !Number.isSafeInteger(Number(text));
  if (isNumber && !losesDigits) return Number(text);
  return type === 'boolean' && (text === 'true' || text === 'false') ? text === 'true' : text;
}

/** As a response is read: a number that would lose digits is text. */
function readJson(name: string, json: string, flag = '--param'): unknown {
  try {
    return parseJson(json);
  } catch {
    if (!flag.startsWith('--param')) throw new UsageError(`${flag} must be followed by JSON.`);
    throw new UsageError(`--param ${name}:= must be followed by JSON. Write ${name}=… for text.`);
  }
}
