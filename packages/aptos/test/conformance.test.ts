import { testPlugin, testSource } from '@sluice/testing';
import { startSandbox } from '@sluice/sandbox';
import { describe } from 'vitest';
import { allBut, notServed } from '../../testing/test/offering.js';
import { onSandbox } from '../../testing/test/onSandbox.js';
import { aptos } from '../src/index.js';

describe('G5 the holdings of wallets', () => {
  testSource({
    ...allBut('a source with increments', '`useUpQuota` of the fixture', ...notServed),
    factory: () =>
      onSandbox({ holdings: 20, owners: 3 }, (client, { aptosUrl, owners }) => {
        const { aptos: api } = client.use(aptos({ baseUrl: aptosUrl }));
        return () => api.nfts({ ownerAddresses: owners, ownersPerRequest: 1, pageSize: 4 });
      }),
  });
});

describe('G5 the plugin for Aptos', () => {
  testPlugin({
    ...allBut('`hooks` of the plugin', 'a plugin that requires others'),
    factory: async () => {
      const sandbox = await startSandbox({ holdings: 3 });
      const { owners } = sandbox;
      return {
        plugin: () => aptos({ baseUrl: sandbox.aptosUrl }),
        use: (api) => api.nfts({ ownerAddresses: owners }).toArray(),
        refused: [
          (api) => api.nfts({ ownerAddresses: [] }),
          (api) => api.nfts({ ownerAddresses: owners, pageSize: 0 }),
          (api) => api.nfts.watch({ ownerAddresses: owners }, { every: -1 }),
        ],
        apiKey: sandbox.apiKey,
        dispose: () => sandbox.close(),
      };
    },
  });
});
