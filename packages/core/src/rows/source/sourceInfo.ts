import { checkCount } from '../../checks.js';
import { checkSchema } from '../columns/columnTypes.js';
import type { Json, RowSchema, SourceDefinition, SourceEndpoint } from './definition.js';
import type { Increment } from './increment.js';

/** Describes a source to sinks and checkpoints. */
export interface SourceInfo<T> {
  readonly name: string;
  /** All that determines the rows, as plain JSON. */
  readonly identity: Json;
  /** `identity` without the settings that only affect paging. Absent if it is the same. */
  readonly rowsIdentity?: Json | undefined;
  /** `Infinity` if a walk discovers them. */
  readonly partitions: number;
  /** How many levels of rows are above its own, if a walk discovers its partitions: each level has a log. */
  readonly levels?: number | undefined;
  /** The walk ends after this many rows. */
  readonly maxRows?: number | undefined;
  /** An operator without a version makes the rows, so a checkpoint cannot tell whether it changed. */
  readonly isUnversioned?: true | undefined;
  /** An operator of `pipePages` makes the rows, and may modify the rows that it gets. */
  readonly hasOperator?: true | undefined;
  /** Its rows have a key, so that repeated rows can be recognized, even after an operator. */
  readonly isKeyed?: true | undefined;
  /** Each page can be fetched only once, so a partition that was interrupted can only start over. */
  readonly isRepeatable?: false | undefined;
  /** Absent if an operator makes rows of unknown shape. */
  readonly schema?: RowSchema<T> | undefined;
  /** It runs until it is stopped and can resume later, so an export of it is never finished. */
  readonly isEndless?: true | undefined;
  /** Its walks obey the option `drain`. Without it, pages that are fetched ahead are lost when an export is cancelled. */
  readonly isDrainable?: true | undefined;
  /** The client of the rows: receives events, redacts errors and identifies the API key. */
  readonly endpoint?: SourceEndpoint | undefined;
  /** How a walk finds the rows that are new since an earlier walk. Absent if each walk emits all rows. */
  readonly increment?: Increment | undefined;
  /** Called before an export starts over: rejects if the source's own state cannot be replaced. */
  readonly checkRestart?: ((signal: AbortSignal) => Promise<void>) | undefined;
}

/** @throws ConfigError if a limit or a column's type is invalid. */
export function describeSource<T>(definition: Omit<SourceDefinition<T>, 'fetch'>): SourceInfo<T> {
  const { name, identity, rowsIdentity, schema, partitions = 1, endpoint, increment } = definition;
  const { maxRows = Infinity, maxPages = Infinity } = definition;
  checkSchema(`The schema of ${name}`, schema);
  for (const [bound, value] of Object.entries({ partitions, maxRows, maxPages }))
    if (value !== Infinity) checkCount(bound, value);
  return {
    name,
    identity,
    rowsIdentity,
    schema,
    partitions,
    maxRows: definition.maxRows === Infinity ? undefined : definition.maxRows,
    ...(schema.key && { isKeyed: true }),
    isRepeatable: definition.isRepeatable === false ? false : undefined,
    isDrainable: true,
    endpoint,
    increment,
  };
}
