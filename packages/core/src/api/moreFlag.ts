import type { OptionKind } from '../checks.js';
import { ConfigError } from '../errors.js';
import type { Json } from '../json.js';
import type { ReadableResponse, Selector } from './pageResponse.js';
import { finder, headersRead } from './documentPath.js';

/** Where a response says whether more rows follow: one of both. */
export interface MoreOptions {
  /** Where it says, with `true` or `false`, whether more rows follow, e.g. `has_more`. */
  readonly more?: Selector<unknown>;
  /** Where it says, with `true` or `false`, that it is the last one, e.g. `end_of_stream`. */
  readonly last?: Selector<unknown>;
}

export const moreKinds = { more: 'text or a function?', last: 'text or a function?' } as const satisfies Readonly<
  Record<keyof MoreOptions, OptionKind>
>;

export interface MoreFlag {
  readonly identity: Readonly<Record<string, Json>>;
  readonly reads: readonly string[] | undefined;
  /** Whether more rows follow; `undefined` without an option. @throws DecodeError if it is neither `true` nor `false`. */
  find(response: ReadableResponse): boolean | undefined;
}

/** @throws ConfigError if both are given, or a path is invalid. */
export function moreFlag({
  more,
  last,
}: {
  readonly more?: Selector<unknown> | undefined;
  readonly last?: Selector<unknown> | undefined;
}): MoreFlag {
  if (more !== undefined && last !== undefined)
    throw new ConfigError('more and last both say whether more rows follow: give one of them.', { option: 'last' });
  const place = more ?? last;
  if (place === undefined) return { identity: {}, reads: [], find: () => undefined };
  const selector = finder(place);
  return {
    identity: { [more === undefined ? 'last' : 'more']: selector.identity },
    reads: headersRead(selector),
    find(response) {
      const found = selector.find(response);
      if (typeof found !== 'boolean') throw response.read.fault(selector.text, 'it is neither true nor false');
      return more === undefined ? !found : found;
    },
  };
}
