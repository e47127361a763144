import { SluiceError, type ApiSource } from '@sluice/core';
import { UsageError } from '../faults/usageError.js';
import { refuseIdleParams } from './idleParams.js';

/** What a source is asked for on a command line, by name. */
export type Params = Readonly<Record<string, unknown>>;

/**
 * Makes what a source is asked with, so that what it refuses is said in the words of `--param`.
 *
 * @throws UsageError if a parameter is missing, wrong, or none of the source's; what the source raises else.
 */
export function askedBy<R>(source: ApiSource, params: Params, make: (params: Params) => R): R {
  try {
    const made = make(params);
    refuseIdleParams(source, params);
    return made;
  } catch (error) {
    throw paramFault(error, source, params) ?? error;
  }
}

/** The library says it to programs. `undefined` where it is about something else than a parameter. */
function paramFault(error: unknown, source: ApiSource, given: Params): UsageError | undefined {
  if (!SluiceError.is(error, 'config')) return undefined;
  const { name, params } = source.describe();
  const { param: path } = error.details;
  if (typeof path !== 'string') return undefined;
  if (params?.length === 0)
    return new UsageError(`${name} takes no parameters. Leave out ${Object.keys(given).map(flagFor).join(', ')}.`);
  const begun = `${name} can't be asked like that: `;
  if (!error.message.startsWith(begun)) return undefined;
  const said = error.message.slice(begun.length);
  if (path === '')
    return new UsageError(
      `${begun}${said} Say what is wanted with --param NAME=…; "sluice sources" lists what there is.`,
    );
  const what = said.startsWith(`${path}: `) ? said.slice(path.length + 2) : said;
  const [param = path] = /^[^.[]+/.exec(path) ?? [];
  const way = wayToGive(param, params?.find((known) => known.name === param)?.type);
  if (!(param in given)) return new UsageError(`${name} needs the parameter ${path}: ${what} Give ${way}.`);
  return new UsageError(`${name} refuses ${flagFor(param)}${inside(path, param)}: ${what} Give ${way}.`);
}

function flagFor(param: string): string {
  return `--param ${param}`;
}

function inside(path: string, param: string): string {
  return path === param ? '' : ` (at ${path})`;
}

/** @param type as JSON Schema names it, where the source says it. */
function wayToGive(param: string, type: string | undefined): string {
  switch (type) {
    case 'object':
      return `--param ${param}:=JSON`;
    case 'array':
      return `--param ${param}=…, once for each`;
    case undefined:
      return `--param ${param}=…, or ${param}:=JSON where it is no text`;
    default:
      return `--param ${param}=…`;
  }
}
