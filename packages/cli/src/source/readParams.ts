import type { SourceDescription } from '@sluice/core';
import { UsageError } from '../faults/usageError.js';
import { flagOf } from '../options/flagOf.js';

/** What a source takes besides its parameters. */
const bounds: ReadonlySet<string> = new Set(['pageSize', 'maxRows', 'maxPages']);

type Described = Pick<SourceDescription, 'params'>;

/**
 * The parameters of a command line, by name. One that is given several times is a list.
 *
 * @param texts `name=value`, taken as text unless the source says that it is a number or a truth value, or `name:=JSON`.
 * @param options those of the command that bound what is asked for, by their names in the library.
 * @throws UsageError if one is neither, or no parameter but a bound.
 * @example readParams(['currency=usd', 'ids:=[1,2]'], {}, ['pageSize']) // { currency: 'usd', ids: [1, 2] }
 */
export function readParams(
  texts: readonly string[],
  { params = [] }: Described,
  options: readonly ('pageSize' | 'maxRows')[],
): Readonly<Record<string, unknown>> {
  const values = new Map<string, unknown[]>();
  for (const text of texts) {
    const [, name, sign, value] = /^([A-Za-z_][\w.-]*)(:?=)(.*)$/s.exec(text) ?? [];
    if (name === undefined || value === undefined)
      throw new UsageError('--param must be name=value, or name:=JSON for anything but text, like ids:=[1,2].');
    if (bounds.has(name)) {
      const own = options.find((option) => option === name);
      throw new UsageError(
        own
          ? `--param ${name} is an option of its own: give ${flagOf(own)}.`
          : `--param ${name} is no parameter, and this command has no option for it. Leave it out.`,
      );
    }
    const type = params.find((param) => param.name === name)?.type;
    const read = sign === '=' ? ofType(value, type) : parsed(name, value);
    values.set(name, [...(values.get(name) ?? []), read]);
  }
  return Object.fromEntries(
    Array.from(values, ([name, all]) => {
      const isList = all.length > 1 || params.find((param) => param.name === name)?.type === 'array';
      return [name, isList && !(all.length === 1 && Array.isArray(all[0])) ? all : all[0]];
    }),
  );
}

/** What is no number stays text, for the source to refuse it. */
function ofType(text: string, type: string | undefined): unknown {
  const isNumber = (type === 'number' || type === 'integer') && text.trim() !== '' && Number.isFinite(Number(text));
  if (isNumber) return Number(text);
  return type === 'boolean' && (text === 'true' || text === 'false') ? text === 'true' : text;
}

function parsed(name: string, json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    throw new UsageError(`--param ${name}:= is followed by no JSON. Write ${name}=… for text.`);
  }
}
