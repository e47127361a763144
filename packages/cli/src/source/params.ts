import { parseJson, SluiceError } from '@sluice/core';
import type { ApiRequests, ApiSource, SourceDescription } from '@sluice/core/define';
import type { Environment } from '../environment/environment.js';
import { toFlag } from '../options/option.js';
import { declaredFlag } from '../options/paramFlags.js';
import { UsageError } from '../errors/errors.js';
import { listLines, readInput, standardInput } from '../input/readInput.js';

type ParamDescription = NonNullable<SourceDescription['params']>[number];

/** Parameters of a source, by name. */
export type Params = Readonly<Record<string, unknown>>;

/** A parameter of a command line, or of a file that it names. */
export interface GivenParam {
  readonly name: string;
  /** How it was given: `--owner`, or `--param ownerAddresses`. */
  readonly flag: string;
  readonly isJson: boolean;
  readonly values: readonly { readonly text: string; readonly line?: number }[];
  readonly file?: string;
}

/**
 * Calls `make` with the parameters, and turns errors about them into errors about their flags.
 *
 * @param given and options: see {@link readParams}.
 * @param others parameters that have options of their own, which errors about them name.
 */
export function withParams<R>(
  source: ApiSource,
  given: readonly GivenParam[],
  options: readonly ('pageSize' | 'maxRows')[],
  make: (params: Params) => R,
  others: Params = {},
): R {
  const description = source.describe();
  const params = readParams(given, description, options);
  try {
    return make({ ...others, ...params });
  } catch (error) {
    throw paramError(error, description, { params, given, others }) ?? error;
  }
}

/** The error in terms of flags; `undefined` if it is not about a parameter. */
function paramError(
  error: unknown,
  { name, params: known }: SourceDescription,
  {
    params,
    given,
    others,
  }: { readonly params: Params; readonly given: readonly GivenParam[]; readonly others: Params },
): UsageError | undefined {
  if (!SluiceError.is(error, 'config')) return undefined;
  const { param: path, reason, option, item } = error.details;
  const own = known?.find((each) => each.name === option);
  if (own && own.name in others) return undefined;
  const place = own && placesOf(own.name, given)[Number(item)];
  if (place !== undefined) return new UsageError(`${place}: ${error.summary}`);
  if (own) return optionError(error, own, name, givenFlag(own.name, given));
  if (typeof path !== 'string') return undefined;
  if (known?.length === 0)
    return new UsageError(
      `${name} takes no parameters. Leave out ${Object.keys(params)
        .map((param) => `--param ${param}`)
        .join(', ')}.`,
    );
  if (typeof reason !== 'string') return undefined;
  if (path === '')
    return new UsageError(
      `${name} refuses its parameters: ${reason}. Give them with --param NAME=…; "sluice sources" lists what there is.`,
    );
  const [param = path] = /^[^.[]+/.exec(path) ?? [];
  const flag = givenFlag(param, given);
  const way = wayToGive(param, known?.find((each) => each.name === param)?.type, flag);
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

function givenFlag(param: string, given: readonly GivenParam[]): string | undefined {
  return given.find(({ name }) => name === param)?.flag;
}

/** Where each value was given: `wallets.txt:4`, or a flag. */
function placesOf(param: string, given: readonly GivenParam[]): readonly string[] {
  return given.flatMap(({ name, flag, file, values }) =>
    name === param ? values.map(({ line }) => (file === undefined ? flag : `${file}:${line}`)) : [],
  );
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
 * @param given a value is text unless the source declares a number or a boolean.
 * @param options the command's own options among the bounds of a source.
 * @example readParams([parseParam('currency=usd'), parseParam('ids:=[1,2]')], {}, ['pageSize']) // { currency: 'usd', ids: [1, 2] }
 */
export function readParams(
  given: readonly GivenParam[],
  { params = [] }: Pick<SourceDescription, 'params'>,
  options: readonly ('pageSize' | 'maxRows')[],
): Params {
  const findType = (name: string): string | undefined => params.find((param) => param.name === name)?.type;
  const all = collectParams(given, ({ name, isJson, flag }, text): unknown => {
    if (bounds.has(name)) {
      const own = options.find((option) => option === name);
      throw new UsageError(
        own
          ? `--param ${name} is an option of its own: give ${toFlag(own)}.`
          : `--param ${name} is not a parameter, and this command has no option for it. Leave it out.`,
      );
    }
    return isJson ? readJson(name, text, flag) : convertText(text, findType(name));
  });
  return Object.fromEntries(
    all.map(([name, values]) => {
      const isList = values.length > 1 || findType(name) === 'array';
      return [name, isList && !(values.length === 1 && Array.isArray(values[0])) ? values : values[0]];
    }),
  );
}

/** @param form a name, its sign and a value. @throws UsageError if it has another one */
export function parseParam(given: string, form = /^([A-Za-z_][\w.-]*)(:?=)(.*)$/s): GivenParam {
  const [, own, assignment = given] = /^(--[\w-]+) (.*)$/s.exec(given) ?? [];
  const [, name, sign, text] = form.exec(assignment) ?? [];
  if (name === undefined || text === undefined)
    throw new UsageError('--param must be name=value, or name:=JSON for anything but text, like ids:=[1,2].');
  return { name, flag: own ?? `--param ${name}`, isJson: sign === ':=', values: [{ text }] };
}

/** Parses the values of `--param`, and reads the files among them: that of `--owners-file ownerAddresses<=wallets.txt`. */
export function readGivenParams(
  texts: readonly string[] = [],
  environment: Environment,
): Promise<readonly GivenParam[]> {
  const read = texts.map(async (given): Promise<GivenParam> => {
    const [, flag, name, path] = /^(--[\w-]+) ([^:=<]+)<=(.*)$/s.exec(given) ?? [];
    if (flag === undefined || name === undefined || path === undefined) return parseParam(given);
    const values = listLines(await readInput(path, `The file ${path}`, environment));
    const file = path === standardInput ? 'stdin' : path;
    // Without its parameter, a source may list all that there is.
    if (values.length === 0) throw new UsageError(`${file} has no value for ${flag}. Write one a line.`);
    return { name, flag, isJson: false, values, file };
  });
  return Promise.all(read);
}

/** The query of a single request. */
type RequestQuery = NonNullable<NonNullable<Parameters<ApiRequests['get']>[1]>['query']>;

/**
 * Parses `--param` of a single request. A parameter that is given several times becomes a list.
 *
 * @example readQuery(['state=open', 'ids:=[1,2]']) // { state: 'open', ids: ['1', '2'] }
 */
export function readQuery(texts: readonly string[]): RequestQuery {
  const given = texts.map((text) => parseParam(text, /^([^\s=:]+)(:?=)(.*)$/s));
  const all = collectParams(given, ({ name, isJson }, text) =>
    isJson ? queryValue(name, readJson(name, text)) : text,
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

/** The values of parameters by their names, in their order. */
function collectParams<Value>(
  given: readonly GivenParam[],
  read: (param: GivenParam, text: string) => Value,
): readonly (readonly [string, readonly Value[]])[] {
  const found = new Map<string, Value[]>();
  for (const param of given) {
    const values = found.get(param.name) ?? [];
    found.set(param.name, values);
    for (const { text } of param.values) values.push(read(param, text));
  }
  return [...found];
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
