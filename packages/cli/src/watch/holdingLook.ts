import type { NftHolding } from '@sluice/aptos';
import type { Colors } from '../terminal/colors.js';
import { fieldText } from '../terminal/fieldText.js';
import { formatCount } from '../terminal/formatNumber.js';
import type { Phrase } from '../terminal/phrases.js';
import type { RowLook } from './rowLook.js';

/** Enough of both ends of an address to know a wallet by. */
const shortAddress = /^(0x[0-9a-f]{4})[0-9a-f]+([0-9a-f]{4})$/i;
const longestCollection = 30;

/** NFTs as people watch them: by name, with the collection, the wallet and how many it holds. */
export function holdingLook({ dim }: Colors): RowLook<NftHolding> {
  const where = (nft: NftHolding): Phrase[] => [
    { text: fieldText(nft.collection_name), most: longestCollection },
    { text: fieldText(nft.owner_address).replace(shortAddress, '$1…$2'), paint: dim },
  ];
  return {
    noun: ['NFT', 'NFTs'],
    name: (nft) => fieldText(nft.name).trim() || fieldText(nft.token_data_id_hash),
    about: (nft) => [{ text: `x ${fieldText(nft.amount) || '?'}` }, ...where(nft)],
    became: (before, after) => {
      const hasOtherAmount = fieldText(before.amount) !== fieldText(after.amount);
      const amounts = `x ${fieldText(before.amount) || '?'} -> ${fieldText(after.amount) || '?'}`;
      return {
        phrases: [{ text: hasOtherAmount ? amounts : 'changed' }, ...where(after)],
        covered: hasOtherAmount ? ['amount'] : [],
      };
    },
    inShort: (nfts) =>
      `in ${formatCount(new Set(nfts.map((nft) => fieldText(nft.collection_name))).size, 'collection')}`,
  };
}
