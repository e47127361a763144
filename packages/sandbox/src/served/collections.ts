import { nastyCollectionNames } from './nastyValues.js';
import { draws, fraction, hex, pick } from './random.js';

/** One NFT collection of the sandbox. */
export interface Collection {
  /** `collection_data_id_hash`: 64 hexadecimal digits without a prefix. */
  readonly hash: string;
  readonly name: string;
  /** `creator_address`: 0x and 64 hexadecimal digits. */
  readonly creator: string;
}

/**
 * Assigns rows to collections, with a few large collections and a long tail.
 *
 * Every full block of 1,024 rows has the same number of rows of each collection, in a different order.
 */
export class Collections {
  readonly list: readonly Collection[];
  readonly #slots: Uint8Array;
  readonly #order: (index: number) => number;

  /** @param nasty the share of nasty rows: above 0, a few small collections have nasty names. */
  constructor(seed: number, nasty: number) {
    const pleasant = shuffle(pleasantNames, seed);
    const odd = nasty > 0 ? shuffle(nastyCollectionNames, seed) : [];
    const oddSlots = odd.length === 0 ? 0 : Math.max(odd.length, Math.round((BLOCK * nasty) / 10));
    this.list = [...pleasant, ...odd].map((name, number) => collection(seed, number, name));
    const slots = [...share(BLOCK - oddSlots, pleasant.length, 0), ...share(oddSlots, odd.length, pleasant.length)];
    this.#slots = Uint8Array.from(shuffle(slots, seed));
    this.#order = draws(seed, 'collection order');
  }

  /** The collection of a row. */
  of(index: number): Collection {
    return pick(this.list, this.#numberOf(index));
  }

  /** Filters rows by collection hashes (lower case, without 0x): `include`, or all if it is empty, without `exclude`. */
  keeper(include: readonly string[], exclude: readonly string[]): (index: number) => boolean {
    const kept = this.list.map(
      ({ hash }) => (include.length === 0 || include.includes(hash)) && !exclude.includes(hash),
    );
    return (index) => kept[this.#numberOf(index)] ?? false;
  }

  #numberOf(index: number): number {
    const order = this.#order(Math.floor(index / BLOCK));
    // An odd factor and an offset permute the block, so each slot is used once.
    const slot = (Math.imul(index, order | 1) + (order >>> 16)) & (BLOCK - 1);
    return this.#slots[slot] ?? 0;
  }
}

const BLOCK = 1_024;

function collection(seed: number, number: number, name: string): Collection {
  return {
    name,
    hash: hex(draws(seed, 'collection hash')(number), 64),
    creator: `0x${hex(draws(seed, 'creator')(number), 64)}`,
  };
}

/** Divides `slots` among `count` collections; the n-th gets about 1/n of the first one's. */
function* share(slots: number, count: number, firstNumber: number): Generator<number> {
  let total = 0;
  for (let rank = 1; rank <= count; rank++) total += 1 / rank;
  let sum = 0;
  let given = 0;
  for (let rank = 1; rank <= count; rank++) {
    sum += 1 / rank;
    for (const end = Math.round((slots * sum) / total); given < end; given++) yield firstNumber + rank - 1;
  }
}

function shuffle<T>(list: readonly T[], seed: number): T[] {
  const order = draws(seed, 'shuffle');
  return list
    .map((item, at) => ({ item, key: fraction(order(at)) }))
    .sort((a, b) => a.key - b.key)
    .map(({ item }) => item);
}

const pleasantNames: readonly string[] = `
  Harbour Lanterns, Paper Foxes, Tidal Gardens, Moss and Marble, Quiet Engines, Salt Road Maps, Glass Herons,
  Cloud Cartographers, Copper Owls, Low Tide Postcards, Night Ferries, Orchard Robots, Pocket Planets,
  Winter Kites, Brass Barnacles, Letters from Lagoon, Sleepy Volcanoes, Birch Spirits, Canal Cats, Dune Choir,
  Electric Acorns, Folded Mountains, Gentle Giants, Hidden Staircases, Ink Otters, Juniper Masks, Kelp Kings,
  Lighthouse Keepers, Mapmaker Moles, Northern Looms, Opal Tortoises, Pebble People, Quartz Sparrows,
  Rainy Day Trains, Silver Reeds, Teacup Dragons, Umbrella Society, Velvet Comets, Wandering Windmills,
  Amber Archive, Blue Hour, Chalk Whales, Driftwood Knights, Evening Bakers, Fern Letters, Garden Satellites,
  Honey Cathedral, Island Hours, Jade Bicycles, Knitted Skies, Lantern Fish Club, Meadow Machines, Nine Bridges,
  Old Town Roofs, Plum Rain, River Clockworks, Snowbound Hotels, Thimble Forest, Under the Ice, Yarrow Tales
`
  .trim()
  .split(/,\s+/);
