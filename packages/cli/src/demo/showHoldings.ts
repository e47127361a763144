import type { NftHolding } from '@sluice/aptos';
import { barChart } from '../terminal/barChart.js';
import { formatCount } from '../terminal/formatNumber.js';
import type { Output } from '../terminal/output.js';
import { table, type Column } from '../terminal/table.js';
import { heading, indent } from './heading.js';
import type { HoldingsDigest } from './holdingsDigest.js';

const columnsOfHoldings: readonly Column<NftHolding>[] = [
  { title: 'name', least: 16, cell: (nft) => nft.name ?? '' },
  { title: 'collection', least: 16, cell: (nft) => nft.collection_name ?? '' },
  { title: 'amount', least: 6, align: 'right', cell: (nft) => nft.amount ?? '' },
  { title: 'owner', least: 12, cell: (nft) => nft.owner_address ?? '' },
];

/** Shows the first rows, and which collections are the largest. */
export async function showHoldings(digest: HoldingsDigest, output: Output, mostCollections: number): Promise<void> {
  const { columns, colors } = output;
  await heading(output, 'The first rows');
  await output.write(table(columnsOfHoldings, digest.firstRows, { columns, colors, indent }).text);
  await heading(output, `The largest of ${formatCount(digest.collections, 'collection')}`);
  await output.write(barChart(digest.largest(mostCollections), { columns, colors, indent }));
}
