import { type NftHolding, nftHoldingSchema } from '@sluice/aptos';
import type { Output } from '../../environment/output.js';

/** Statistics of the exported holdings. */
export class HoldingsDigest {
  readonly #byCollection = new Map<string, number>();
  readonly #keys = new Set<string>();

  add(nft: NftHolding): void {
    const collection = nft.collection_name ?? '';
    this.#byCollection.set(collection, (this.#byCollection.get(collection) ?? 0) + 1);
    this.#keys.add(String(nftHoldingSchema.key?.(nft)));
  }

  /** The number of different holdings. */
  get distinct(): number {
    return this.#keys.size;
  }

  get collections(): number {
    return this.#byCollection.size;
  }

  /** The collections with the most holdings, largest first. */
  largest(count: number): { readonly label: string; readonly value: number }[] {
    return [...this.#byCollection]
      .map(([label, value]) => ({ label, value }))
      .sort((a, b) => b.value - a.value)
      .slice(0, count);
  }
}

/** The indentation of the demo's output, in columns. */
export const indent = 2;

export async function heading(output: Output, title: string): Promise<void> {
  await output.write(`\n${output.colors.bold(title)}\n`);
}
