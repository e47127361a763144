import { BlockList, isIP } from 'node:net';

/** A set of addresses and CIDRs. It is built on first use, since most processes never need it. */
export class AddressRanges {
  readonly #ranges: readonly string[];
  #lists: { readonly ipv4: BlockList; readonly ipv6: BlockList } | undefined;

  /** @param ranges addresses and CIDRs, e.g. `10.0.0.0/8`. */
  constructor(ranges: readonly string[]) {
    this.#ranges = ranges;
  }

  /** @param address in its {@link normalizeAddress plain} form. */
  has(address: string): boolean {
    this.#lists ??= buildLists(this.#ranges);
    return isIP(address) === 4 ? this.#lists.ipv4.check(address, 'ipv4') : this.#lists.ipv6.check(address, 'ipv6');
  }
}

/** Separate lists, since a BlockList of both finds 10.0.0.1 in `::/0`. */
function buildLists(ranges: readonly string[]): { readonly ipv4: BlockList; readonly ipv6: BlockList } {
  const lists = { ipv4: new BlockList(), ipv6: new BlockList() };
  for (const range of ranges) {
    const [address = '', bits] = range.split('/');
    const type = isIP(address) === 4 ? 'ipv4' : 'ipv6';
    if (bits === undefined) lists[type].addAddress(address, type);
    else lists[type].addSubnet(address, Number(bits), type);
  }
  return lists;
}
