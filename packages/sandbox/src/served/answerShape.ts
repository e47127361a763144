/** The shape of the sandbox's responses. Defaults follow the live service, as far as that is known. */
export interface AnswerShape {
  /**
   * Nested values. `live` (default): `abi`, its `inputs` and `outputs`, `advancedOptions`, `getNativeBalances` and
   * `triggers` are lists, `token_properties` is an object. `reference`: single objects, and JSON as text.
   */
  readonly nested?: ShapeName;
  /** The cursor of the last page: `null` (default for holdings), empty, or absent (default for streams). */
  readonly end?: 'null' | 'empty' | 'absent';
  /** `result` of a page with one row: a list (default), or the row itself. */
  readonly oneRow?: 'list' | 'object';
  /** `result` of a page without rows: an empty list (default), `null`, or absent. */
  readonly noRows?: 'list' | 'null' | 'absent';
  /** Paging of holdings: by cursor (default), or by `offset` only, with `cursor` always as in `end`. */
  readonly next?: 'cursor' | 'offset';
  /** Whether holdings have `hasNextPage` (default). */
  readonly hasNextPage?: 'sent' | 'absent';
}

/** The shape of the live service, or of the API's reference. */
export type ShapeName = 'live' | 'reference';

export interface Shapes {
  readonly streams: Required<AnswerShape>;
  readonly aptos: Required<AnswerShape>;
}

/**
 * Fills in the defaults. Throws `RangeError` for an unknown name.
 *
 * @see the types in the service's public SDK (2.27), generated from the service's own description
 */
export function fillShapes(shape: ShapeName | AnswerShape): Shapes {
  const given = typeof shape === 'string' ? findShape(shape) : shape;
  return {
    streams: { ...live, end: 'absent', ...given },
    aptos: { ...live, ...given },
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

/** The reference shows `result` as one object, and `cursor` in every response. */
const reference: AnswerShape = { nested: 'reference', oneRow: 'object', end: 'null' };

function findShape(name: string): AnswerShape {
  if (name === 'live') return {};
  if (name === 'reference') return reference;
  throw new RangeError(`shape is ${JSON.stringify(name)}: give live or reference.`);
}
