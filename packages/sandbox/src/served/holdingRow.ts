import type { Collections } from './collections.js';
import type { ShapeName } from './answerShape.js';
import { nastyAmounts, nastyProperties, nastyTexts } from './nastyValues.js';
import type { Owners } from './owners.js';
import { draws, fraction, hex, pick } from './random.js';

/** One NFT holding with all its fields, as the endpoint sends it. Nasty rows may have `null` and unknown fields. */
export interface HoldingRow {
  /** Numeric text; in nasty rows above 2^53. */
  readonly amount: string;
  readonly collection_data_id_hash: string;
  readonly collection_name: string;
  readonly name: string | null;
  readonly owner_address: string;
  readonly property_version: string;
  readonly token_data_id_hash: string;
  /** An object, or JSON text in the reference's shape; in nasty rows either of them, or `null`. */
  readonly token_properties: unknown;
  readonly [field: string]: unknown;
}

/** Creates the function from index to row. Owner, token hash and property version together are unique. */
export function holdingRows(
  seed: number,
  nasty: number,
  { owners, collections, nested }: { owners: Owners; collections: Collections; nested: ShapeName },
): (index: number) => HoldingRow {
  const token = draws(seed, 'token');
  const moment = draws(seed, 'moment');
  const look = draws(seed, 'look');
  const nastiness = draws(seed, 'nasty');

  return (index) => {
    const { hash, name, creator } = collections.of(index);
    const tokenWord = token(index);
    const lookWord = look(index);
    const properties = { background: pick(backgrounds, lookWord >>> 8), level: String((lookWord >>> 16) % 100) };
    const seconds = Math.floor(fraction(moment(index)) * SPAN_SECONDS);
    const row: HoldingRow = {
      amount: lookWord % 16 === 0 ? String(2 + ((lookWord >>> 4) % 48)) : '1',
      collection_data_id_hash: hash,
      collection_name: name,
      creator_address: creator,
      last_transaction_timestamp: formatTimestamp(seconds, lookWord),
      last_transaction_version: String(seconds * 20 + (lookWord % 20)),
      name: `${name} #${(tokenWord % 10_000) + 1}`,
      owner_address: owners.ownerOf(index),
      property_version: lookWord % 32 === 0 ? '1' : '0',
      table_type: '0x3::token::TokenStore',
      token_data_id_hash: hex(tokenWord, 64),
      token_properties: nested === 'live' ? properties : JSON.stringify(properties),
    };
    const nastyWord = nastiness(index);
    return fraction(nastyWord) < nasty ? nastyRow(row, look(nastyWord)) : row;
  };
}

/** Every nasty row has a nasty name and one more nasty field. */
function nastyRow(row: HoldingRow, word: number): HoldingRow {
  const named: HoldingRow = { ...row, name: pick(nastyTexts, word) };
  const detail = word >>> 16;
  switch ((word >>> 8) % 6) {
    case 0:
      return { ...named, amount: pick(nastyAmounts, detail) };
    case 1:
    case 2:
      return { ...named, token_properties: pick(nastyProperties, detail) };
    case 3:
      return { ...named, is_soulbound: detail % 2 === 0, royalty: { points: detail % 1_000, payee: null } };
    case 4:
      return { ...named, last_transaction_timestamp: null, table_type: null };
    default:
      return detail % 4 === 0 ? { ...named, name: null } : named;
  }
}

function formatTimestamp(seconds: number, word: number): string {
  const toMilliseconds = new Date((FIRST_SECOND + seconds) * 1_000 + (word % 1_000)).toISOString();
  return `${toMilliseconds.slice(0, -1)}${String((word >>> 10) % 1_000).padStart(3, '0')}Z`;
}

/** 2022-10-17, and three years on. */
const FIRST_SECOND = 1_665_964_800;
const SPAN_SECONDS = 94_608_000;

const backgrounds: readonly string[] = ['Dawn', 'Dusk', 'Fog', 'Gold', 'Ink', 'Mint', 'Rust', 'Snow'];
