import { abortable } from '../../abortable.js';
import { SluiceError } from '../../errors.js';
import { AdapterFault, type AddressGuard, type GuardedHost, type ResolvedAddress } from './adapter.js';
import { codeOf } from './incoming.js';

export type CheckedAddresses = readonly [ResolvedAddress, ...ResolvedAddress[]];

interface LookupLimits {
  /** Deadline in ms; 0 sets none. */
  readonly timeout: number;
  /** Registers how to stop the lookup when no request waits for it any more. Returns a function that unregisters. */
  readonly untilEmpty: (stop: () => void) => () => void;
}

/**
 * Resolves a name and checks every address. One forbidden address refuses all, because we cannot know which one a
 * socket would use. A lookup cannot be cancelled, so its result is ignored after the end.
 *
 * @throws ForbiddenAddressError; AdapterFault if the lookup fails or is too late.
 */
export async function checkedAddresses(
  guard: AddressGuard,
  host: GuardedHost,
  { timeout, untilEmpty }: LookupLimits,
): Promise<CheckedAddresses> {
  const ended = new AbortController();
  const deadline = timeout === 0 ? undefined : setTimeout(endLate, Math.min(timeout, longestTimer));
  const unwatch = untilEmpty(() => ended.abort(new AdapterFault('network')));
  try {
    const [first, ...others] = await abortable(lookup(guard, host.hostname), ended.signal);
    if (!first) throw new AdapterFault('network', 'ENODATA');
    for (const { address } of [first, ...others]) guard.check(address, host);
    return [first, ...others];
  } finally {
    clearTimeout(deadline);
    unwatch();
  }

  function endLate(): void {
    ended.abort(new AdapterFault('connect-timeout'));
  }
}

/** Longer delays overflow a timer, which then fires at once. */
const longestTimer = 2 ** 31 - 1;

async function lookup(guard: AddressGuard, hostname: string): Promise<ResolvedAddress[]> {
  try {
    // Copies, so that the guard cannot change an address after its check. The address determines the family.
    return (await guard.resolve(hostname)).map(({ address }) => ({ address, family: address.includes(':') ? 6 : 4 }));
  } catch (error) {
    if (SluiceError.is(error)) throw error;
    // Only the code: undici interprets properties of the error itself.
    throw new AdapterFault('network', codeOf(error));
  }
}
