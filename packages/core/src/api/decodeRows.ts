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
export function rowDecoder<Row>({ schema, decode }: RowMaking<Row>): DecodeRows<Row> {
  if (schema) return bySchema(schema);
  // Without a decoder, the rows are plain objects, and so is `Row`.
  return decode ? byFunction(decode) : (unchanged as DecodeRows<Row>);
}

function unchanged(received: readonly unknown[], path: string, read: DocumentReader): readonly unknown[] {
  const wrong = received.findIndex((row) => !isRecord(row));
  if (wrong >= 0) throw read.fault(`${path}[${wrong}]`, `it is ${kindOf(received[wrong])}, and not an object`);
  return received;
}

function byFunction<Row>(decode: DecodeRow<Row>): DecodeRows<Row> {
  return (received, path, read) =>
    decodeEach(received, path, read, (row, index) => decode(row, `${path}[${index}]`, read));
}

function bySchema<Row>(schema: StandardSchema<unknown, Row>): DecodeRows<Row> {
  const standard = schema['~standard'];
  return (received, path, read) =>
    decodeEach(received, path, read, (row, index) => {
      const result = standard.validate(row);
      if (isResult(result)) {
        if (!result.issues) {
          if (typeof result.value === 'object' && result.value !== null) return result.value;
          throw read.fault(
            `${path}[${index}]`,
            `its schema makes ${kindOf(result.value)} of it, and not an object`,
            '',
          );
        }
        const fault = issuesText(result.issues, row);
        throw read.fault(`${path}[${index}]${fault.path}`, fault.what);
      }
      throw read.fault(`${path}[${index}]`, asyncSchemaText, '');
    });
}

function decodeEach<Row>(
  received: readonly unknown[],
  path: string,
  read: DocumentReader,
  make: (row: unknown, index: number) => Row,
): readonly Row[] {
  const rows: Row[] = [];
  try {
    for (const row of received) rows.push(make(row, rows.length));
    return rows;
  } catch (error) {
    throw thrownFault(error, `${path}[${rows.length}]`, received[rows.length], read);
  }
}
