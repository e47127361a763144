import { ConfigError } from '../errors.js';
import { isRecord } from '../record.js';

/** How rows are told apart, and when two of them differ. */
export interface ComparisonOptions<T> {
  /** What tells a row from all others. Default: the key of the source's schema. */
  readonly key?: (row: T) => string;
  /** What of a row is compared: some of its fields, or what a function makes of it. Default: all of it. */
  readonly project?: readonly string[] | ((row: T) => unknown);
  /** Fields that are not compared, since they always move, e.g. `last_transaction_timestamp` or `stats.seen`. Default: none. */
  readonly ignore?: readonly string[];
  /** Whether two projections are the same. Default: equal JSON, whatever the order of names. */
  readonly equals?: (before: unknown, after: unknown) => boolean;
}

/** The paths of the fields in which two rows differ, sorted; none if they are the same. */
export type FieldsBetween<T> = (before: T, after: T) => readonly string[];

/**
 * The comparison that options describe.
 *
 * @param columns the fields that rows are known to have, if anything is known of them.
 * @throws ConfigError if a field is named that no row has.
 */
export function fieldsBetween<T>(
  { project, ignore = [], equals }: ComparisonOptions<T>,
  columns: readonly string[] = [],
): FieldsBetween<T> {
  const picked = typeof project === 'function' ? undefined : project;
  for (const [option, names] of Object.entries({ project: picked ?? [], ignore })) checkFields(option, names, columns);
  const ignored = new Set(ignore);
  const projected = typeof project === 'function' ? project : (row: T) => pick(row, picked);
  return (before, after) => {
    const [one, other] = [projected(before), projected(after)];
    if (equals?.(one, other)) return [];
    const fields: string[] = [];
    collect(one, other, '', ignored, fields);
    // Somebody else's idea of equality may see a difference where ours sees none.
    return fields.length === 0 && equals ? ['*'] : fields.sort();
  };
}

function checkFields(option: string, names: readonly string[], columns: readonly string[]): void {
  const unknown = names.find((name) => columns.length > 0 && !columns.includes(name.split('.')[0] ?? name));
  if (unknown !== undefined)
    throw new ConfigError(
      `${option} names the field "${unknown}", which no row has. There are: ${columns.join(', ')}.`,
      {
        option,
      },
    );
}

function pick(row: unknown, names: readonly string[] | undefined): unknown {
  if (!names || !isRecord(row)) return row;
  return Object.fromEntries(names.filter((name) => Object.hasOwn(row, name)).map((name) => [name, row[name]]));
}

function collect(before: unknown, after: unknown, path: string, ignored: ReadonlySet<string>, fields: string[]): void {
  if (before === after || (path !== '' && ignored.has(path))) return;
  if (!isRecord(before) || !isRecord(after)) {
    if (!isEqual(before, after)) fields.push(path === '' ? '*' : path);
    return;
  }
  for (const name of Object.keys(before)) {
    collect(before[name], own(after, name), path === '' ? name : `${path}.${name}`, ignored, fields);
  }
  for (const name of Object.keys(after)) {
    if (!Object.hasOwn(before, name))
      collect(undefined, after[name], path === '' ? name : `${path}.${name}`, ignored, fields);
  }
}

/** A field of the record itself: one may be called `constructor`. */
function own(record: Record<string, unknown>, name: string): unknown {
  return Object.hasOwn(record, name) ? record[name] : undefined;
}

function isEqual(before: unknown, after: unknown): boolean {
  if (Object.is(before, after)) return true;
  if (Array.isArray(before) && Array.isArray(after))
    return before.length === after.length && before.every((item, at) => isEqual(item, after[at]));
  if (!isRecord(before) || !isRecord(after)) return false;
  const names = Object.keys(before);
  return (
    names.length === Object.keys(after).length &&
    names.every((name) => Object.hasOwn(after, name) && isEqual(before[name], after[name]))
  );
}
