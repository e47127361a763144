import type { RowKey, RowSchema } from '../source/definition.js';
import type { DecodeRow } from './decodeRows.js';
import type { RequestSpec } from './listingPlan.js';
import type { ResponseSpec } from './pageReader.js';
import type { StandardSchema } from './standardSchema.js';

/** How rows are made of what an answer holds. What is made by code needs a `version`. */
export type RowsMade<Row> =
  | {
      /**
       * Checks each row, and gives it the type that the schema makes of it: a schema of Zod, Valibot, ArkType, or whatever else keeps to
       * Standard Schema. It must not be asynchronous.
       */
      readonly schema: StandardSchema<unknown, Row>;
      /**
       * Names what is made of rows: change it when the schema, or any function of the definition, changes. What an export or a watch has
       * begun with another one is refused, and does not end up with rows of two kinds.
       */
      readonly version: string;
      readonly decode?: undefined;
    }
  | {
      /** Makes each row, without a schema library. It refuses one with `throw read.fault(path, 'why')`. */
      readonly decode: DecodeRow<Row>;
      readonly version: string;
      readonly schema?: undefined;
    }
  | {
      /** Without one, rows are the records that came, with whatever is in them. */
      readonly schema?: undefined;
      readonly decode?: undefined;
      readonly version?: string;
    };

/** What describes one listing of an API, apart from how its rows are made. */
export interface ListingParts<Row extends object, In extends object, Params>
  extends RequestSpec<Params>, Pick<ResponseSpec<Row>, 'rows' | 'total'> {
  /** A sentence for those who look for it, e.g. on the command line. */
  readonly description?: string;
  /**
   * Checks what the source is asked for, and may make something else of it, e.g. numbers of text from a command line. Default: what the
   * functions of the definition take, as the compiler sees it.
   */
  readonly params?: StandardSchema<In, Params>;
  /** The rows' fields, in the order in which a table shows them. */
  readonly columns: readonly (keyof NoInfer<Row> & string)[];
  /** What tells one row from all others: a watch needs it. It is also asked for rows as JSON has them. */
  readonly key?: (row: NoInfer<Row>) => RowKey;
  /** How a row is named as an event, where it is one. */
  readonly event?: RowSchema<NoInfer<Row>>['event'];
}

/** What describes one listing of an API. */
export type ListingDefinition<Row extends object, In extends object, Params> = ListingParts<Row, In, Params> &
  RowsMade<Row>;
