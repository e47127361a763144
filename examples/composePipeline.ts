// The composer: plain RxJS on a source that respects the rate limit, pushed or pulled.
// After `npm start`: cd examples && npx tsx composePipeline.ts
import { amountOf, aptos } from '@sluice/aptos';
import { createClient } from '@sluice/core';
import { startSandbox } from '@sluice/sandbox';
import { filter, map, take } from 'rxjs';

// Simulates the API, so that this runs without a key.
await using sandbox = await startSandbox({ holdings: 5_000 });
const { apiKey, aptosUrl, owners: ownerAddresses } = sandbox;

await using client = createClient({ apiKey }).use(aptos({ baseUrl: aptosUrl }));
const holdings = client.aptos.nfts({ ownerAddresses });

holdings
  .pipe(
    filter((nft) => (amountOf(nft) ?? 0n) > 1n),
    map((nft) => `${nft.name ?? 'unnamed'} x ${nft.amount ?? '?'}`),
    take(3), // the walk ends here: no more requests, and an open one is aborted
  )
  .subscribe((line) => console.log(line));

let seen = 0;
for await (const nft of holdings) {
  // at most one page is fetched ahead, however slow this loop is
  if (nft.owner_address === ownerAddresses[1]) break;
  seen += 1;
}
console.log(`${seen} holdings of the first owner`);
