// The imports of a page, compiled without the types of Node and without a lib for `AsyncDisposable`.
import { aptos, type NftHolding } from '@sluice/aptos';
import { createClient, type Client, type Source } from '@sluice/core';
import { streams } from '@sluice/streams';

export const client = createClient({ apiKey: 'a-key-of-ours' })
  .use(streams({ baseUrl: 'https://streams.example' }))
  .use(aptos({ baseUrl: 'https://aptos.example' }));
export const base: Client = client;
export const holdings: Source<NftHolding> = client.aptos.nfts({ ownerAddresses: ['0x1'] });
