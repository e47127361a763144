import { parseExactly } from '../../packages/core/src/http/response/exactNumbers.js';
import { holdingRecord, pageFields, rowFields, type ApiName } from '../../test/kit/apiReference.js';

/** What a response must be read as: rows, and how the walk continues. */
export interface ExpectedPage {
  readonly rows: readonly unknown[];
  readonly next: { readonly cursor: string } | 'by-offset' | 'end';
  readonly total?: number;
  /** It has no content, which is an error in place of a page that the one before names. */
  readonly isNothing?: true;
}

/** An error that a response may cause: one of these codes, and for `decode` one of these places in the document. */
export interface ExpectedFault {
  readonly codes: readonly string[];
  readonly paths?: readonly string[];
  readonly status?: number;
  /**
   * The valid rest of a response whose rows are invalid: the error is raised when the rows are needed, which may be
   * later.
   */
  readonly apartFromRows?: { readonly received: number; readonly next: ExpectedPage['next'] };
}

export type Expected = ExpectedPage | ExpectedFault;

/** The text fields of a holding. */
const holdingTexts = rowFields.aptos.filter((name) => name !== holdingRecord);
/** Of which a holding has at least one: an object without any is something else, such as an error. */
const keyFields = ['owner_address', 'token_data_id_hash', 'property_version'];
/** The permitted number of levels in a document. */
const maxLevels = 500;

/**
 * Reads a document by the API's reference and by our documentation, with none of our code: an independent opinion on
 * what a response must become.
 */
export function expectedPage(api: ApiName, text: string): Expected {
  let document: unknown;
  try {
    document = parseExactly(text.replace(/^\ufeff/, ''));
  } catch {
    return decodeFault('');
  }
  if (isTooDeep(document)) return decodeFault('');
  return api === 'streams' ? streamsIn(document) : holdingsIn(document);
}

function streamsIn(document: unknown): Expected {
  const page = fieldsOf(document);
  if (!page || !isOneOf(page, pageFields.streams)) return decodeFault('');
  const rows = rowsIn(page.get('result'));
  const faults = rows.flatMap((row, at) => {
    const stream = fieldsOf(row);
    if (!stream) return [`result[${at}]`];
    const id = stream.get('id');
    const isName = typeof id === 'string' ? id.length > 0 : Number.isSafeInteger(id);
    return isName ? [] : [`result[${at}].id`];
  });
  const cursor = page.get('cursor') ?? '';
  if (typeof cursor !== 'string') return decodeFault(...faults, 'cursor');
  const next = cursor === '' ? 'end' : { cursor };
  if (faults.length > 0) return { ...decodeFault(...faults), apartFromRows: { received: rows.length, next } };
  const total = page.get('total');
  return {
    rows,
    next,
    ...(typeof total === 'number' && Number.isSafeInteger(total) && total >= 0 && { total }),
  };
}

function holdingsIn(document: unknown): Expected {
  const page = fieldsOf(document);
  if (!page || !isOneOf(page, pageFields.aptos)) return decodeFault('');
  const faults: string[] = [];
  const rows = rowsIn(page.get('result')).map((row, at) => {
    const holding = fieldsOf(row);
    if (!holding || !isOneOf(holding, rowFields.aptos)) {
      faults.push(`result[${at}]`);
      return row;
    }
    const before = faults.length;
    const read = [...holding].map(([name, value]): [string, unknown] => {
      if (!holdingTexts.includes(name) || value === null || typeof value === 'string') return [name, value];
      if (Number.isSafeInteger(value)) return [name, JSON.stringify(value)];
      faults.push(`result[${at}].${name}`);
      return [name, value];
    });
    const hasKey = keyFields.some((name) => (holding.get(name) ?? undefined) !== undefined);
    if (!hasKey && faults.length === before) faults.push(`result[${at}]`);
    return Object.fromEntries(read);
  });
  const hasNextPage = page.get('hasNextPage') ?? undefined;
  const cursor = page.get('cursor') ?? '';
  const wrong = [
    ...(hasNextPage !== undefined && typeof hasNextPage !== 'boolean' ? ['hasNextPage'] : []),
    // If there is no next page, the cursor does not matter.
    ...(hasNextPage !== false && typeof cursor !== 'string' ? ['cursor'] : []),
  ];
  if (wrong.length > 0) return decodeFault(...faults, ...wrong);
  const isEnd = hasNextPage === false || (hasNextPage === undefined && cursor === '');
  const next = isEnd ? 'end' : cursor === '' ? 'by-offset' : { cursor: String(cursor) };
  if (faults.length > 0) return { ...decodeFault(...faults), apartFromRows: { received: rows.length, next } };
  return { rows, next };
}

function decodeFault(...paths: string[]): ExpectedFault {
  return { codes: ['decode'], paths };
}

/** The own fields of a record; none for anything else. */
function fieldsOf(value: unknown): ReadonlyMap<string, unknown> | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? new Map<string, unknown>(Object.entries(value))
    : undefined;
}

/** A record may lack any field, but one with none of the known fields is something else. */
function isOneOf(fields: ReadonlyMap<string, unknown>, names: readonly string[]): boolean {
  return fields.size === 0 || names.some((name) => fields.has(name));
}

function rowsIn(result: unknown): readonly unknown[] {
  if (result === undefined || result === null) return [];
  return Array.isArray(result) ? result : [result];
}

/** Descends level by level, because the documents include nesting that overflows any recursion. */
function isTooDeep(document: unknown): boolean {
  let inside = [document].filter(isContainer);
  for (let level = 0; level < maxLevels; level += 1)
    inside = inside.length === 0 ? inside : inside.flatMap((each) => Object.values(each)).filter(isContainer);
  return inside.length > 0;
}

function isContainer(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}
