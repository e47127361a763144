import { abortable } from '../../abortable.js';
import { SluiceError } from '../../errors.js';
import { AdapterFault, type AddressGuard, type GuardedHost, type ResolvedAddress } from './adapter.js';

export type CheckedAddresses = readonly [ResolvedAddress, ...ResolvedAddress[]];

interface LookupEnds {
  /** Ms until there must be an answer; 0 sets no deadline. */
  readonly timeout: number;
  /** Told how to stop the lookup when nobody waits for it any more. The answer is called when it has ended. */
  readonly untilEmpty: (stop: () => void) => () => void;
}

/**
 * Looks a name up and checks every address it leads to. One that is forbidden refuses them all: which of them a socket would choose is
 * not ours to foresee. A lookup can't be stopped, but what it says after its end is dropped.
 *
 * @throws ForbiddenAddressError, or an AdapterFault if there is no answer.
 */
export async function checkedAddresses(
  guard: AddressGuard,
  host: GuardedHost,
  { timeout, untilEmpty }: LookupEnds,
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

/** Ms after which a timer would go off at once. */
const longestTimer = 2 ** 31 - 1;

async function lookup(guard: AddressGuard, hostname: string): Promise<ResolvedAddress[]> {
  try {
    // Copies, so that what is checked is what is connected to, whoever else holds the originals. The family is what the address shows.
    return (await guard.resolve(hostname)).map(({ address }) => ({ address, family: address.includes(':') ? 6 : 4 }));
  } catch (error) {
    if (SluiceError.is(error)) throw error;
    // Without the error itself: undici reads codes of its own in it.
    throw new AdapterFault('network', codeOf(error));
  }
}

function codeOf(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined;
}
