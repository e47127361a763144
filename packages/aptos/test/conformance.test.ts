import { createClient } from '@sluice/core';
import { testPlugin, testSource, type Answering } from '@sluice/core/testing';
import { startSandbox } from '@sluice/sandbox';
import { describe } from 'vitest';
import { allBut } from '../../core/test/testing/offering.js';
import { aptos } from '../src/index.js';

describe('G5 the holdings of wallets', () => {
  testSource({
    ...allBut(),
    factory: async () => {
      let how: Answering = 'well';
      const answers = { well: undefined, fail: { kind: 'status', status: 403 }, never: { kind: 'never' } } as const;
      const sandbox = await startSandbox({ holdings: 20, owners: 3, script: () => answers[how] });
      const client = createClient({ apiKey: sandbox.apiKey, rateLimit: false }).use(
        aptos({ baseUrl: sandbox.aptosUrl }),
      );
      return {
        source: () => client.aptos.walletNfts({ ownerAddresses: sandbox.owners, ownersPerRequest: 1, pageSize: 4 }),
        requests: () => ({ made: sandbox.counts.requests, open: sandbox.counts.open }),
        answer: (answering) => {
          how = answering;
        },
        dispose: async () => {
          await client.close();
          await sandbox.close();
        },
      };
    },
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
        use: (api) => api.walletNfts({ ownerAddresses: owners }).toArray(),
        refused: [
          (api) => api.walletNfts({ ownerAddresses: [] }),
          (api) => api.walletNfts({ ownerAddresses: owners, pageSize: 0 }),
          (api) => api.watchWalletNfts({ ownerAddresses: owners, every: -1 }),
        ],
        apiKey: sandbox.apiKey,
        dispose: () => sandbox.close(),
      };
    },
  });
});
