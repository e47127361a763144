import type { SourceDescription } from '@sluice/core';
import { UsageError } from '../faults/usageError.js';
import { flagOf } from '../options/flagOf.js';

type Described = Pick<SourceDescription, 'params'>;

/**
 * The parameters of a command line, by name. One that is given several times is a list.
 *
 * @param texts `name=value`, taken as text unless the source says that it is a number or a truth value, or `name:=JSON`.
 * @throws UsageError if one is neither.
 * @example readParams(['currency=usd', 'ids:=[1,2]'], {}) // { currency: 'usd', ids: [1, 2] }
 */
export function readParams(texts: readonly string[], { params = [] }: Described): Readonly<Record<string, unknown>> {
  const values = new Map<string, unknown[]>();
  for (const text of texts) {
    const [, name, sign, value] = /^([A-Za-z_][\w.-]*)(:?=)(.*)$/s.exec(text) ?? [];
    if (name === undefined || value === undefined)
      throw new UsageError('--param must be name=value, or name:=JSON for anything but text, like ids:=[1,2].');
    if (name === 'pageSize' || name === 'maxRows')
      throw new UsageError(`--param ${name} is an option of its own: give ${flagOf(name)}.`);
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
