import { ConfigError } from '../../errors.js';
import { definedJson } from '../../json.js';
import { isList, isRecord, kindOf } from '../../values.js';
import type { RequestSpec } from './requestSpec.js';

interface Given<Params> {
  /** The source's name, for errors. */
  readonly name: string;
  readonly params: Params;
  readonly warn: (message: string) => void;
}

/**
 * The values of each partition of a listing, as plain JSON, in order; `undefined` if the listing is not partitioned.
 *
 * @throws ConfigError if values are not an object, or have the name of a parameter that is given.
 */
export function listPartitionValues<Params extends object, Values>(
  { partitions }: Pick<RequestSpec<Params, Values>, 'partitions'>,
  { name, params, warn }: Given<Params>,
): readonly object[] | undefined {
  if (partitions === undefined) return undefined;
  const all: readonly unknown[] =
    typeof partitions === 'function' ? partitions(params, warn) : combinationsOf(partitions);
  const names = new Set(Object.keys(params));
  return all.map((values) => {
    if (!isRecord(values)) throw new ConfigError(`${name} has ${kindOf(values)} as the values of a partition.`);
    const twice = Object.keys(values).find((value) => names.has(value));
    if (twice !== undefined)
      throw new ConfigError(
        `${name} has the parameter ${JSON.stringify(twice)} twice: it is given, and its partitions have it.`,
        { param: twice },
      );
    const plain = definedJson(values, `The values of a partition of ${name}`);
    return isRecord(plain) ? plain : {};
  });
}

/** @throws ConfigError if a table of values has a name without a value. */
export function checkPartitionTable(partitions: unknown, fault: (option: string, what: string) => ConfigError): void {
  if (!isRecord(partitions)) return;
  for (const [param, values] of Object.entries(partitions))
    if (!isList(values) || values.length === 0)
      throw fault('partitions', `${param} must be a list of at least one value`);
}

/** All combinations of the values in a table; the first name varies slowest. */
function combinationsOf(table: object): readonly object[] {
  return Object.entries<unknown>({ ...table }).reduce<readonly object[]>(
    (all, [name, values]) =>
      all.flatMap((known) => (isList(values) ? values : []).map((value) => ({ ...known, [name]: value }))),
    [{}],
  );
}
