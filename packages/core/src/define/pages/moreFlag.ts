import type { OptionKind } from '../../checks.js';
import { ConfigError } from '../../errors.js';
import type { Json } from '../../json.js';
import { finder } from '../responses/documentPath.js';
import type { PageResponse, Selector } from '../responses/pageResponse.js';
import type { Paging } from './paging.js';

/** Where a response says whether more rows follow: `more` or `last`. */
export interface MoreOptions {
  /** Where a response says, with `true` or `false`, whether more rows follow, e.g. `has_more`. */
  readonly more?: Selector<unknown> | undefined;
  /** Where a response says, with `true` or `false`, whether it is the last one, e.g. `end_of_stream`. */
  readonly last?: Selector<unknown> | undefined;
}

export const moreKinds = { more: 'text or a function?', last: 'text or a function?' } as const satisfies Readonly<
  Record<keyof MoreOptions, OptionKind>
>;

/** A paging that also takes `more` or `last`. */
interface FlaggedPaging extends Paging {
  readonly identity: Readonly<Record<string, Json>>;
  /** Not called if the response says that no rows follow. @param follows given if it says that more rows do */
  next(response: PageResponse, follows?: true): ReturnType<Paging['next']>;
}

/**
 * Ends a paging where `more` or `last` says so, whatever else a response has.
 *
 * @throws ConfigError if both are given, or a path is invalid. Later: DecodeError for another value.
 */
export function withMoreFlag({ more, last }: MoreOptions, paging: FlaggedPaging): Paging {
  if (more !== undefined && last !== undefined)
    throw new ConfigError('more and last both say whether more rows follow: give one of them.', { option: 'last' });
  const place = more ?? last;
  if (place === undefined) return paging;
  const flag = finder(place);
  const follows = (response: PageResponse): boolean => {
    const found = flag.find(response);
    if (typeof found !== 'boolean') throw response.read.fault(flag.text, 'it is neither true nor false');
    return more === undefined ? !found : found;
  };
  return {
    ...paging,
    identity: { ...paging.identity, [more === undefined ? 'last' : 'more']: flag.identity },
    reads: flag.reads && paging.reads,
    next: (response) => (follows(response) ? paging.next(response, true) : 'end'),
    more: follows,
  };
}
