/** Bounds of a walk, for any source of an API. */
export interface WalkBounds {
  /** Rows a page, within what the API takes. Default: as the source's definition says. */
  readonly pageSize?: number;
  /** The walk ends after this many rows. Default: no bound. Needs a concurrency of 1. */
  readonly maxRows?: number;
  /** A part with more pages than this is an error. Default: no bound. */
  readonly maxPages?: number;
}

/** Bounds of a watch's walks. There is no `maxRows`: rows that are pushed beyond it would count as removed. */
export type WatchBounds = Omit<WalkBounds, 'maxRows'>;

/** Asks that no parameter has the name of a bound, for which it would be taken. */
export type FreeParams = { readonly [Name in keyof WalkBounds]?: never };

interface SplitOptions {
  readonly params: Readonly<Record<string, unknown>>;
  readonly bounds: WalkBounds;
}

/** Takes parameters and bounds apart; those that are `undefined` are left out. The bounds' values are still to be checked. */
export function decodeOptions(options: object): SplitOptions {
  const given = Object.entries(options).filter(([, value]) => value !== undefined);
  return {
    params: Object.fromEntries(given.filter(([option]) => !isBound(option))),
    bounds: Object.fromEntries(given.filter(([option]) => isBound(option))),
  };
}

const boundNames: Readonly<Record<keyof WalkBounds, true>> = { pageSize: true, maxRows: true, maxPages: true };

function isBound(option: string): boolean {
  return Object.hasOwn(boundNames, option);
}
