/** Limits of a walk, for any source of an API. */
export interface WalkBounds {
  /** Rows per page, within the API's limit. Default: that of the definition. */
  readonly pageSize?: number;
  /** The walk ends after this many rows. Default: no limit. Requires a concurrency of 1. */
  readonly maxRows?: number;
  /** A partition with more pages is an error. Default: no limit. */
  readonly maxPages?: number;
}

/** Limits of a watch's walks, without `maxRows`: rows beyond it would count as removed. */
export type WatchBounds = Omit<WalkBounds, 'maxRows'>;

/** Forbids parameters with the name of a limit. */
export type FreeParams = { readonly [Name in keyof WalkBounds]?: never };

interface SplitOptions {
  readonly params: Readonly<Record<string, unknown>>;
  readonly bounds: WalkBounds;
}

/** Separates parameters from limits, without those that are `undefined`. The limits are validated later. */
export function decodeOptions(options: object): SplitOptions {
  const given = Object.entries(options).filter(([, value]) => value !== undefined);
  return {
    params: Object.fromEntries(given.filter(([option]) => !Object.hasOwn(boundNames, option))),
    bounds: Object.fromEntries(given.filter(([option]) => Object.hasOwn(boundNames, option))),
  };
}

const boundNames: Readonly<Record<keyof WalkBounds, true>> = { pageSize: true, maxRows: true, maxPages: true };
