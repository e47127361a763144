import { amend } from '../../errors.js';
import { documentReader, type DocumentReader } from './documentReader.js';
import { isRecord, kindOf, shownText } from '../../values.js';
import { documentErrors, documentMessages } from './documentMessages.js';
import { keyFields } from './fieldKey.js';
import { issuesText, thrownFault } from './issueText.js';
import { lackFinder, type RowParts } from './rowParts.js';
import { isResult, asyncSchemaText, type StandardSchema } from '../standardSchema.js';

/**
 * Makes a row of a received value, or refuses it with `read.fault`. Equal values must give equal rows. It is also
 * called with an empty object, or an object with only the added `fields`: a row must show more than the result of that.
 *
 * @param value also used later to detect loops, so a decoder that modifies it must always do so in the same way
 * @param path the row's place in the document, e.g. `data.items[3]`
 */
export type DecodeRow<Row> = (value: unknown, path: string, read: DocumentReader) => Row;

/** How rows are made: by a schema, by a function, or unchanged. */
export interface RowMaking<Row> {
  readonly schema?: StandardSchema<unknown, Row> | undefined;
  readonly decode?: DecodeRow<Row> | undefined;
}

/** Where a response has the received rows. */
interface RowsPlace {
  /** The place of the rows' list. */
  readonly path: string;
  readonly read: DocumentReader;
  /** Added to each row before it is made. */
  readonly fields?: object | undefined;
}

/** Makes the rows of a listing. */
export interface RowDecoder<Row> {
  /**
   * Makes all rows of a response.
   *
   * @param quote shortens and redacts a message that the API sends in place of a row
   *
   * @throws DecodeError for the first value that is not a row
   */
  readonly decode: (received: readonly unknown[], place: RowsPlace, quote: (text: string) => string) => readonly Row[];
  /** Whether a received value becomes a row. */
  readonly isRow: (value: unknown, fields?: object) => boolean;
}

/** Creates the decoder of a definition. It adds almost no cost per row. */
export function rowDecoder<Row>({
  schema,
  decode = schema && bySchema(schema),
  columns,
  key,
}: RowMaking<Row> & RowParts<Row>): RowDecoder<Row> {
  const isMade = decode !== undefined;
  // Without a decoder, the rows are plain objects, and so is `Row`.
  const make = decode ?? (unchanged as DecodeRow<Row>);
  const unread = documentReader('');
  const lacking = lackFinder({ columns, key }, (value) => make(value, '', unread), isMade);
  const names = [...columns, ...keyFields(key)];
  const mayBeRow = (value: unknown): boolean => isRecord(value) && names.some((name) => Object.hasOwn(value, name));
  return {
    decode(received, { path, read, fields }, quote) {
      const rows: Row[] = [];
      let lack: string | undefined;
      try {
        const lackOf = lacking(fields);
        for (const value of received) {
          const row = make(withFields(value, fields), `${path}[${rows.length}]`, read);
          lack = lackOf(row, value);
          if (lack !== undefined)
            throw read.fault(
              `${path}[${rows.length}]`,
              `row ${rows.length + 1} ${lack}: it ${contentOf(value)}`,
              notARow,
            );
          rows.push(row);
        }
        // Returns the received list itself, unless rows were changed.
        return isMade || fields ? rows : (received as readonly Row[]);
      } catch (error) {
        const value = received[rows.length];
        const fault = thrownFault(error, `${path}[${rows.length}]`, value, read);
        // A value that may be a row, even with other field names, is not quoted: it may be private.
        const isOther = lack !== undefined || (!mayBeRow(value) && (!isMade || received.some(mayBeRow)));
        const said = isOther ? documentMessages(value) : mayBeRow(value) ? '' : documentErrors(value, false);
        if (said !== '') amend(fault, `It says: "${quote(said)}".`);
        throw fault;
      }
    },
    isRow(value, fields) {
      try {
        return lacking(fields)(make(withFields(value, fields), '', unread), value) === undefined;
      } catch {
        return false;
      }
    },
  };
}

const notARow =
  'Is it an error that came with a success status? Say in `responses` what it means. If not, leave it out with a function `rows`.';

/** Only objects get fields: the decoder refuses others. */
function withFields(value: unknown, fields: object | undefined): unknown {
  return fields && isRecord(value) ? { ...value, ...fields } : value;
}

const shownNames = 5;

/** Describes a value by the names of its fields, never by their values. */
function contentOf(value: unknown): string {
  if (!isRecord(value)) return `is ${kindOf(value)}`;
  const names = Object.keys(value);
  if (names.length === 0) return 'is empty';
  const shown = names.slice(0, shownNames).map((name) => shownText(name));
  return `has ${shown.join(', ')}${names.length > shownNames ? ` and ${names.length - shownNames} more fields` : ''}`;
}

function unchanged(row: unknown, path: string, read: DocumentReader): unknown {
  if (isRecord(row)) return row;
  throw read.fault(path, `it is ${kindOf(row)}, and not an object`);
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
