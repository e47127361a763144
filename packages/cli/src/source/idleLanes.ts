/** How wallets are asked for. */
interface AskedWallets {
  readonly ownerAddresses: readonly string[];
  readonly ownersPerRequest?: number | undefined;
  readonly lanes?: number | undefined;
}

const defaultOwnersPerRequest = 10;
/** An address of a request has room for some twenty owners. */
const mostOwnersPerRequest = 20;

/**
 * Says that lanes stand idle although there are wallets for them, and which size of groups gives each of them one. The groups are not made
 * smaller by themselves: they are part of an export's plan, which must not depend on the lanes, and each group costs a request.
 */
export function idleLanes({ ownerAddresses, ownersPerRequest, lanes = 1 }: AskedWallets): string | undefined {
  const owners = new Set(ownerAddresses).size;
  const size = Math.min(ownersPerRequest ?? defaultOwnersPerRequest, mostOwnersPerRequest);
  const groups = Math.ceil(owners / size);
  const smaller = Math.max(1, Math.floor(owners / lanes));
  const more = Math.ceil(owners / smaller);
  if (groups >= lanes || more <= groups) return undefined;
  const run = groups === 1 ? '1 group, so 1 lane runs' : `${groups} groups, so ${groups} lanes run`;
  return `${owners} wallets in groups of ${size} make ${run} instead of ${lanes}. For ${more} groups give --owners-per-request ${smaller}; an export that was begun keeps its groups.`;
}
