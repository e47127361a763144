import { isRecord, kindOf } from '../values.js';
import type { DocumentReader } from '../source/documentReader.js';
import { issuesText, thrownFault } from './issueText.js';
import { isResult, lateSchema, type StandardSchema } from './standardSchema.js';

/**
 * Makes a row of what an API sent, or refuses it with `read.fault`. The same value has to give the same row.
 *
 * @param value is compared with what other pages brought, also when this is done, so that circles are noticed: whoever changes it has to do
 * it in the same way each time.
 * @param path where the row stands in the document, e.g. `data.items[3]`.
 */
export type DecodeRow<Row> = (value: unknown, path: string, read: DocumentReader) => Row;

/** How rows are made: by a schema, by a function, or not at all. */
export interface RowMaking<Row> {
  readonly schema?: StandardSchema<unknown, Row> | undefined;
  readonly decode?: DecodeRow<Row> | undefined;
}

/** Makes all rows of an answer, or none. `path` is where their list stands. */
type DecodeRows<Row> = (received: readonly unknown[], path: string, read: DocumentReader) => readonly Row[];

/** What makes the rows that a definition describes. Beyond the schema or the function itself, a row costs next to nothing. */
export function rowDecoder<Row>({ schema, decode }: RowMaking<Row>): DecodeRows<Row> {
  if (schema) return bySchema(schema);
  // Rows that nothing is known of are of the type of all records; so is `Row`, then.
  return decode ? byFunction(decode) : (asTheyCame as DecodeRows<Row>);
}

function asTheyCame(received: readonly unknown[], path: string, read: DocumentReader): readonly unknown[] {
  const wrong = received.findIndex((row) => !isRecord(row));
  if (wrong >= 0) throw read.fault(`${path}[${wrong}]`, `it is ${kindOf(received[wrong])}, and not an object`);
  return received;
}

function byFunction<Row>(decode: DecodeRow<Row>): DecodeRows<Row> {
  return (received, path, read) => made(received, path, read, (row, index) => decode(row, `${path}[${index}]`, read));
}

function bySchema<Row>(schema: StandardSchema<unknown, Row>): DecodeRows<Row> {
  const standard = schema['~standard'];
  return (received, path, read) =>
    made(received, path, read, (row, index) => {
      const result = standard.validate(row);
      if (isResult(result)) {
        if (!result.issues) {
          if (typeof result.value === 'object' && result.value !== null) return result.value;
          throw read.fault(`${path}[${index}]`, `its schema makes ${kindOf(result.value)} of it, and not an object`);
        }
        const fault = issuesText(result.issues, row);
        throw read.fault(`${path}[${index}]${fault.path}`, fault.what);
      }
      throw read.fault(`${path}[${index}]`, lateSchema);
    });
}

function made<Row>(
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
