import { isRecord, kindOf } from '../values.js';
import type { DocumentReader } from '../source/documentReader.js';
import { issuesText, thrownFault } from './issueText.js';
import { isResult, asyncSchemaText, type StandardSchema } from './standardSchema.js';

/**
 * Makes a row of a received value, or refuses it with `read.fault`. Equal values must give equal rows.
 *
 * @param value also serves later to detect loops, so a decoder that modifies it must always do so in the same way
 * @param path the row's place in the document, e.g. `data.items[3]`
 */
export type DecodeRow<Row> = (value: unknown, path: string, read: DocumentReader) => Row;

/** How rows are made: by a schema, by a function, or unchanged. */
export interface RowMaking<Row> {
  readonly schema?: StandardSchema<unknown, Row> | undefined;
  readonly decode?: DecodeRow<Row> | undefined;
}

/** Makes all rows of a response, or throws. `path` is the place of their list. */
type DecodeRows<Row> = (received: readonly unknown[], path: string, read: DocumentReader) => readonly Row[];

/** Creates the decoder of a definition. It adds almost no cost per row. */
export function rowDecoder<Row>({ schema, decode = schema && bySchema(schema) }: RowMaking<Row>): DecodeRows<Row> {
  // Without a decoder, the rows are plain objects, and so is `Row`.
  if (!decode) return unchanged as DecodeRows<Row>;
  return (received, path, read) => {
    const rows: Row[] = [];
    try {
      for (const value of received) rows.push(decode(value, `${path}[${rows.length}]`, read));
      return rows;
    } catch (error) {
      throw thrownFault(error, `${path}[${rows.length}]`, received[rows.length], read);
    }
  };
}

function unchanged(received: readonly unknown[], path: string, read: DocumentReader): readonly unknown[] {
  const wrong = received.findIndex((row) => !isRecord(row));
  if (wrong >= 0) throw read.fault(`${path}[${wrong}]`, `it is ${kindOf(received[wrong])}, and not an object`);
  return received;
}

function bySchema<Row>(schema: StandardSchema<unknown, Row>): DecodeRow<Row> {
  const standard = schema['~standard'];
  return (row, path, read) => {
    const result = standard.validate(row);
    if (!isResult(result)) throw read.fault(path, asyncSchemaText, '');
    if (result.issues) {
      const fault = issuesText(result.issues, row);
      throw read.fault(`${path}${fault.path}`, fault.what);
    }
    const { value } = result;
    if (typeof value === 'object' && value !== null) return value;
    throw read.fault(path, `its schema makes ${kindOf(value)} of it, and not an object`, '');
  };
}
