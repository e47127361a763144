import { BlockList, isIP } from 'node:net';

/** A set of addresses, given as CIDRs and single addresses. */
export class AddressRanges {
  // Apart, since a BlockList of both finds 10.0.0.1 in `::/0`.
  readonly #ipv4 = new BlockList();
  readonly #ipv6 = new BlockList();

  /** @param ranges each an address, or one with the number of bits that count: `10.0.0.0/8`. */
  constructor(ranges: readonly string[]) {
    for (const range of ranges) {
      const [address = '', bits] = range.split('/');
      const [list, type] = isIP(address) === 4 ? ([this.#ipv4, 'ipv4'] as const) : ([this.#ipv6, 'ipv6'] as const);
      if (bits === undefined) list.addAddress(address, type);
      else list.addSubnet(address, Number(bits), type);
    }
  }

  /** @param address one in its {@link plainAddress plain} form. */
  has(address: string): boolean {
    return isIP(address) === 4 ? this.#ipv4.check(address, 'ipv4') : this.#ipv6.check(address, 'ipv6');
  }
}
