import type { Json, RowSchema } from '../source/definition.js';

/** Writes rows as text, some of them at a time. */
export interface RowEncoder<T> {
  /** What stands before the first row. */
  readonly header: string;
  /**
   * The text of these rows: a page of them, or a few of one. All texts, one behind the other, are the whole, wherever the rows are cut.
   */
  encode(items: readonly T[]): string;
}

/** A text format for rows, ready for any sink that takes bytes. */
export interface RowFormat<T> {
  readonly name: string;
  /** What decides the bytes, as plain JSON. */
  readonly identity: Json;
  /** @throws ConfigError if the schema is not enough, e.g. without columns. */
  encoder(schema: RowSchema<T> | undefined): RowEncoder<T>;
}
