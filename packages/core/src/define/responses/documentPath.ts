import { ConfigError } from '../../errors.js';
import { isExactNumber } from '../../http/response/exactNumbers.js';
import type { Json } from '../../rows/source/definition.js';
import type { DocumentReader } from './documentReader.js';
import { countIn, isList, isRecord, kindOf } from '../../values.js';
import type { ReadableResponse, Selector } from './pageResponse.js';

export interface DocumentPath {
  /** The path in errors, e.g. `data.items`; empty for the document itself. */
  readonly text: string;
  /**
   * The value; `undefined` only if an optional part is missing.
   *
   * @throws DecodeError with the place of the first missing part.
   */
  readonly find: (document: unknown, read: DocumentReader) => unknown;
  /** Whether the value is text of a number, or an exact number beyond 2^53. Does not work in a copy of the document. */
  isExactNumber(document: unknown): boolean;
  /** Whether the document lacks a part of the path; `null` is not missing. */
  isMissing(document: unknown): boolean;
}

/** One name or index of a path. */
export interface PathStep {
  readonly name: string | number;
  readonly mayBeMissing: boolean;
  readonly text: string;
}

const oneStep = /^(?:\.?([^.[\]?]+)|\[(\d+)\]|\[('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")\])(\?)?/s;

/**
 * Parses a path, to be used for each response: names separated by dots, `[0]` for the first item of a list, and `?`
 * after a part that may be missing or `null`. A name with a dot or a bracket is quoted in brackets, as in RFC 9535. Any
 * other missing part is an error, since a misspelt name would look like an empty listing. A missing part with `?` is an
 * error, too, if the document has the path, or its rest, as a single name.
 *
 * @example
 * documentPath('data.items')           // must be there
 * documentPath('data.items?')          // `items` may be missing
 * documentPath('meta.next?.token')     // `next` may be missing or null, as on a last page; if not, it has a token
 * documentPath("['@odata.nextLink']?") // a name with a dot
 * documentPath('[1]')                  // the second of a list
 * documentPath('')                     // the document itself
 *
 * @throws ConfigError if it is not a path.
 */
export function documentPath(path: string): DocumentPath {
  const steps = parseSteps(path);
  const text = steps.at(-1)?.text ?? '';
  return {
    text,
    find(document, read) {
      let value = document;
      let at = '';
      for (const [nth, { name, mayBeMissing, text: next }] of steps.entries()) {
        const found = readField(value, name, at, read);
        if (found === undefined || (found === null && mayBeMissing)) {
          const quoted = isRecord(value) ? withOneName(value, steps, nth) : undefined;
          if (quoted !== undefined)
            throw read.fault(next, `there is no such field, but the document has it as one name: write ${quoted}`);
          if (mayBeMissing) return undefined;
          throw read.fault(next, 'there is no such field: if it may be missing, write ? after its name');
        }
        [value, at] = [found, next];
      }
      return value;
    },
    isExactNumber(document) {
      const last = steps.at(-1);
      const parent = steps.slice(0, -1).reduce(partOf, document);
      return last !== undefined && isExactNumber(parent, last.name);
    },
    isMissing: (document) => steps.reduce(partOf, document) === undefined,
  };
}

/** The path of a document's rows. */
export interface RowsPath {
  readonly text: string;
  /** Finds no rows if an optional part is missing. `items` is the length of the outermost list. @throws DecodeError */
  find(document: unknown, read: DocumentReader, onMissing: OnMissing): Found;
}

interface Found {
  readonly rows: readonly unknown[];
  readonly items: number;
}

/** Called with the document, or the item of a list and its place, if that lacks an optional part. */
type OnMissing = (owner: unknown, place: string) => void;

/**
 * Parses the path of a list of rows, or one with `[*]`, as in RFC 9535, which selects a row in each item of a list.
 *
 * @example
 * rowsPath('data.items')           // the items
 * rowsPath('data.items[*].node')   // the node of each item; `node?` leaves out items without one
 * rowsPath('groups[*].members[*]') // the members of all groups
 */
export function rowsPath(path: string): RowsPath {
  const [outer = '', ...inner] = path.replace(quotedOrItems, (part) => (part === '[*]' ? '\0' : part)).split('\0');
  const list = documentPath(outer);
  if (inner.some((part) => part === '.' || !/^(?:[.[]|$)/.test(part))) throw notAPath(path);
  const parts = inner.map((part) => documentPath(part.replace(/^\./, '')));
  return {
    text: inner.length === 0 ? list.text : path,
    find(document, read, onMissing) {
      const found = list.find(document, read);
      if (found === undefined) {
        onMissing(document, '');
        return { rows: [], items: 0 };
      }
      const items = listAt(list.text, found, read);
      return {
        items: items.length,
        rows: parts.length === 0 ? items : selectRows(items, parts, { at: list.text, read, onMissing }),
      };
    },
  };
}

const quotedOrItems = /\['(?:[^'\\]|\\.)*'\]|\["(?:[^"\\]|\\.)*"\]|\[\*\]/gs;

/** Selects rows by several paths: each path begins at the items of the list that the path before found. */
function selectRows(
  items: readonly unknown[],
  [path, ...rest]: readonly DocumentPath[],
  { at, read, onMissing }: { readonly at: string; readonly read: DocumentReader; readonly onMissing: OnMissing },
): readonly unknown[] {
  return items.flatMap((item, index) => {
    const place = `${at}[${index}]`;
    const value = path?.find(item, readerAt(place, read));
    if (value === undefined) {
      onMissing(item, place);
      return [];
    }
    const found = joinPaths(place, path?.text ?? '');
    if (rest.length > 0) return selectRows(listAt(found, value, read), rest, { at: found, read, onMissing });
    if (isList(value))
      throw read.fault(found, 'it is a list, and not a row: write [*] after it, if its items are rows');
    return [value];
  });
}

const isNull = 'it is null: if it may be, write ? after its name';

function listAt(at: string, value: unknown, read: DocumentReader): readonly unknown[] {
  if (isList(value)) return value;
  if (value === null && at !== '') throw read.fault(at, isNull);
  throw read.fault(at, `it is ${kindOf(value)}, and not a list`);
}

/** A reader for a part of a document, with paths that begin at this part. */
function readerAt(place: string, read: DocumentReader): DocumentReader {
  return { ...read, fault: (path, what, hint) => read.fault(joinPaths(place, path), what, hint) };
}

function joinPaths(place: string, path: string): string {
  return path === '' || path.startsWith('[') ? place + path : `${place}.${path}`;
}

function partOf(value: unknown, { name }: PathStep): unknown {
  if (value === null) return null;
  if (typeof name === 'number') return isList(value) ? value[name] : undefined;
  return isRecord(value) && Object.hasOwn(value, name) ? value[name] : undefined;
}

/** The steps of a path. @throws ConfigError if the path is invalid. */
export function parseSteps(path: string): readonly PathStep[] {
  const steps: PathStep[] = [];
  let rest = path;
  let text = '';
  while (rest !== '') {
    const [whole, plain, index, quoted, mark] = oneStep.exec(rest) ?? [];
    const isFirst = steps.length === 0;
    if (whole === undefined || (plain !== undefined && rest.startsWith('.') === isFirst)) throw notAPath(path);
    const name = plain ?? (quoted === undefined ? Number(index) : unquote(quoted, path));
    text += stepText(name, isFirst);
    steps.push({ name, mayBeMissing: mark !== undefined, text });
    rest = rest.slice(whole.length);
  }
  return steps;
}

/** How a step is written, with quotes only where it needs them. */
function stepText(name: string | number, isFirst: boolean): string {
  if (typeof name === 'number') return `[${name}]`;
  if (/^[^.[\]?]+$/.test(name)) return `${isFirst ? '' : '.'}${name}`;
  return `['${JSON.stringify(name).slice(1, -1).replaceAll('\\"', '"').replaceAll("'", "\\'")}']`;
}

/** Reads a quoted name, with the escapes of JSON and `\'`. */
function unquote(quoted: string, path: string): string {
  const inner = quoted
    .slice(1, -1)
    .replace(/\\'|"|\\./gs, (text) => (text === "\\'" ? "'" : text === '"' ? '\\"' : text));
  try {
    return String(JSON.parse(`"${inner}"`));
  } catch {
    throw notAPath(path);
  }
}

/**
 * The path with some of its steps from the `nth` on as one name, e.g. `['@odata.nextLink']?` for `@odata.nextLink?`, if
 * the object has a field of that name.
 */
function withOneName(value: object, steps: readonly PathStep[], nth: number): string | undefined {
  let joined = '';
  for (const [past, { name, mayBeMissing }] of steps.slice(nth).entries()) {
    joined += typeof name === 'number' ? `[${name}]` : `${past === 0 ? '' : '.'}${name}`;
    const found = [joined, ...(mayBeMissing ? [`${joined}?`] : [])].find((each) => Object.hasOwn(value, each));
    if (found === undefined || found === name) continue;
    const one = { name: found, mayBeMissing: mayBeMissing && found === joined };
    return [...steps.slice(0, nth), one, ...steps.slice(nth + past + 1)]
      .map((step, at) => `${stepText(step.name, at === 0)}${step.mayBeMissing ? '?' : ''}`)
      .join('');
  }
  return undefined;
}

function notAPath(path: string): ConfigError {
  return new ConfigError(
    `${JSON.stringify(path)} is not a path in a document. Write names with dots between them, [0] for the first of a list, ['a.b'] for a name with a dot, and ? after what may be missing, e.g. data.items?`,
    { path },
  );
}

/** Reads only own fields, since a field may be called `constructor`. */
function readField(value: unknown, name: string | number, at: string, read: DocumentReader): unknown {
  if (typeof name === 'number') {
    if (!isList(value)) throw read.fault(at, `it is ${kindOf(value)}, and not a list`);
    return value[name];
  }
  if (value === null && at !== '') throw read.fault(at, isNull);
  if (!isRecord(value)) throw read.fault(at, `it is ${kindOf(value)}, and not an object`);
  return Object.hasOwn(value, name) ? value[name] : undefined;
}

/** A {@link Selector} ready to use, whether a path or a function. */
export interface Finder {
  /** The headers that the selector reads: none for a path, unknown for a function. */
  readonly reads: readonly string[] | undefined;
  /** The path for errors; empty for a function. */
  readonly text: string;
  readonly identity: Json;
  find(response: ReadableResponse): unknown;
  /** Whether a path finds text of a number, or an exact number beyond 2^53. */
  isExactNumber(response: ReadableResponse): boolean;
  /** Whether the response lacks the path, or the function returns `undefined`; `null` is not missing. */
  isMissing(response: ReadableResponse): boolean;
}

/** Parses a selector. @throws ConfigError if its path is invalid. */
export function finder(where: Selector<unknown>): Finder {
  if (typeof where === 'function')
    return {
      reads: undefined,
      text: '',
      identity: 'function',
      find: where,
      isExactNumber: () => false,
      isMissing: (response) => where(response) === undefined,
    };
  const path = documentPath(where);
  return {
    reads: [],
    text: path.text,
    identity: where,
    find: ({ body, read }) => path.find(body, read),
    isExactNumber: ({ body }) => path.isExactNumber(body),
    isMissing: ({ body }) => path.isMissing(body),
  };
}

/** Reads a number, or text of digits; `undefined` if a response has none. @throws DecodeError for other values. */
export function readCount(of: 'rows' | 'pages', at: Finder, response: ReadableResponse): number | undefined {
  const value = at.find(response);
  // APIs that don't count rows may send `null` as a total, but never as a number of pages.
  if (value === undefined || (value === null && of === 'rows')) return undefined;
  const count = countIn(value);
  if (count !== undefined) return count;
  throw response.read.fault(at.text, `it is ${kindOf(value)}, and not a number of ${of}`);
}
