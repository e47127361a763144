import type { Responses } from '../http/response/responses.js';
import type { ColumnType } from '../rows/columns/columnTypes.js';
import type { RowSchema } from '../rows/source/definition.js';
import type { DecodeRow } from './responses/decodeRows.js';
import type { ListingKey } from './responses/fieldKey.js';
import type { RequestSpec } from './requests/requestSpec.js';
import type { ResponseSpec } from './responses/pageReader.js';
import type { Each } from './parents/each.js';
import type { StandardSchema } from './standardSchema.js';

/** How rows are made: by a schema, by a function, or as received. A schema or function needs a `version`. */
export type RowsMade<Row> =
  | {
      /** Validates and types each row: a synchronous schema of Zod, Valibot, ArkType or similar. */
      readonly schema: StandardSchema<unknown, Row>;
      /**
       * Identifies the row format: change it with the schema or any function. Exports and watches of another version
       * are refused, so that two row formats are not mixed.
       */
      readonly version: string;
      readonly decode?: undefined;
    }
  | {
      /** Makes each row without a schema library. Refuse one with `throw read.fault(path, 'why')`. */
      readonly decode: DecodeRow<Row>;
      readonly version: string;
      readonly schema?: undefined;
    }
  | {
      /** Without a schema or `decode`, rows are the received objects, unchanged. */
      readonly schema?: undefined;
      readonly decode?: undefined;
      readonly version?: string;
    };

/** Describes one listing of an API, except how its rows are made. */
export interface ListingParts<Row extends object, In extends object, Params, Values = object>
  extends RequestSpec<Params, Values>, Pick<ResponseSpec<Row>, 'rows' | 'total' | 'until' | 'format' | 'parse'> {
  /** A sentence for users, e.g. on the command line. */
  readonly description?: string;
  /** Validates parameters, and may convert them, e.g. from text. Default: only the compiler checks them. */
  readonly params?: StandardSchema<In, Params>;
  /**
   * Makes this a listing for each row of another source of the API, as `rowOf` describes it: each row is a partition,
   * with parameters made of the row. With `partitions`, each row has a partition for each of their values. `each` needs
   * a `version` if a function makes parameters or a part of the request, and excludes `params`, `offset` and
   * `rowsIdentity`. With `bySince`, an incremental export has a mark for each partition. Default: one listing.
   */
  readonly each?: Each<In, Params>;
  /**
   * What responses mean, by their status or more, e.g. `{ 404: 'skip' }` or `graphqlErrors()`. In a document that is a
   * list, entries for fields apply to items that are not rows. For other responses, the `responses` of the API count,
   * then their status.
   */
  readonly responses?: Responses;
  /**
   * Whether a row is emitted. Offsets, totals, marks and the end of the listing count all received rows, so a page
   * whose rows are all left out does not end it; only `maxRows` counts the kept rows. Rows that are left out are not
   * parents either. A filter needs a `version`: change it with the function. Default: all rows are emitted.
   */
  readonly filter?: (row: NoInfer<Row>) => boolean;
  /**
   * The rows' fields, in the order of a table. Without a `key`, an item with none of these fields is refused: it may be
   * an error that came with a success status.
   */
  readonly columns: readonly (keyof NoInfer<Row> & string)[];
  /** The types of the columns, for sinks with typed columns, such as tables of a database. Default: `text`. */
  readonly types?: Partial<Readonly<Record<keyof NoInfer<Row> & string, ColumnType>>>;
  /**
   * Identifies a row, which a watch needs: the name of a field, a list of fields that identify it together, e.g.
   * `['account', 'id']`, or a function, which is also called with rows restored from JSON. The key is text or a whole
   * number. An item without a key, e.g. an error in the last line of JSON Lines, is refused, as it is not a row.
   */
  readonly key?: ListingKey<NoInfer<Row>>;
  /** Returns the row's status, for the `change` events of a watch. If it is not a text, it is ignored. */
  readonly statusOf?: (row: NoInfer<Row>) => unknown;
  /** Returns the row's name for people, e.g. its tag, for the `change` events of a watch. */
  readonly nameOf?: (row: NoInfer<Row>) => unknown;
  /** Identifies a row as an event, if it is one. */
  readonly event?: RowSchema<NoInfer<Row>>['event'];
}

/** Describes one listing of an API. */
export type ListingDefinition<Row extends object, In extends object, Params, Values = object> = ListingParts<
  Row,
  In,
  Params,
  Values
> &
  RowsMade<Row>;
