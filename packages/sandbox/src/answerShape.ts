/**
 * How the sandbox words its answers. What is left open is as the live service sends it; where that is not known either, as
 * said here.
 */
export interface AnswerShape {
  /**
   * What is nested in a row. `live` (default): `abi`, its `inputs` and `outputs`, `advancedOptions`, `getNativeBalances` and
   * `triggers` are lists, `token_properties` is an object. `reference`: single objects, and JSON as text.
   */
  readonly nested?: ShapeName;
  /** The cursor of the last page: `null` (default for holdings), the empty text, or no such field (default for streams). */
  readonly end?: 'null' | 'empty' | 'absent';
  /** `result` of a page with one row: a list (default), or the row itself. */
  readonly oneRow?: 'list' | 'object';
  /** `result` of a page without rows: an empty list (default), `null`, or no such field. */
  readonly noRows?: 'list' | 'null' | 'absent';
  /** How holdings go on: by a cursor (default), or by `offset` alone: then `cursor` is always as in `end`. */
  readonly next?: 'cursor' | 'offset';
  /** Whether holdings say `hasNextPage` (default), or let the cursor decide. */
  readonly hasNextPage?: 'sent' | 'absent';
}

/** The names of two whole shapes: the live service's, and the one that the API's reference shows. */
export type ShapeName = 'live' | 'reference';

/** Each endpoint's shape. */
export interface Shapes {
  readonly streams: Required<AnswerShape>;
  readonly aptos: Required<AnswerShape>;
}

/**
 * Fills in what was left open. Raises `RangeError` for a name that there is not.
 *
 * @see the types in the service's public SDK (2.27), which were generated from the service's own description
 */
export function shapesOf(shape: ShapeName | AnswerShape): Shapes {
  const asked = typeof shape === 'string' ? named(shape) : shape;
  return {
    streams: { ...live, end: 'absent', ...asked },
    aptos: { ...live, ...asked },
  };
}

const live: Required<AnswerShape> = {
  nested: 'live',
  end: 'null',
  oneRow: 'list',
  noRows: 'list',
  next: 'cursor',
  hasNextPage: 'sent',
};

/** The reference shows `result` as one object, and `cursor` as a field of every answer. */
const reference: AnswerShape = { nested: 'reference', oneRow: 'object', end: 'null' };

function named(name: string): AnswerShape {
  if (name === 'live') return {};
  if (name === 'reference') return reference;
  throw new RangeError(`shape is ${JSON.stringify(name)}: give live or reference.`);
}
