import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { testSource, type Answering, type SentRequest } from '@sluice/testing';
import { describe } from 'vitest';
import { createClient, defineApi } from '../../src/index.js';
import { allBut } from '../../../testing/test/offering.js';
import { answerOf, issuesOf, reposOf } from './parentsApi.js';

const counts = [3, 0, 1, 5, 2];
const repos = counts.map((_, id) => ({ id, name: `r${String(id)}` }));
const issues = Object.fromEntries(counts.map((count, id) => [`r${String(id)}`, count]));

describe('A6 a listing for each row of another one', () => {
  testSource({
    ...allBut(),
    factory: async () => {
      const sent: SentRequest[] = [];
      let open = 0;
      let how: Answering = 'well';
      const server = createServer(({ method = '', url = '' }, response) => {
        open += 1;
        response.once('close', () => (open -= 1));
        sent.push({ method, url });
        if (how === 'never') return;
        const { body } = answerOf({ repos, issues }, new URL(url, 'http://localhost/'));
        response.writeHead(how === 'fail' ? 400 : 200, { 'content-type': 'application/json' });
        response.end(JSON.stringify(how === 'fail' ? {} : body));
      });
      await once(server.listen(0, '127.0.0.1'), 'listening');
      const baseUrl = `http://127.0.0.1:${String((server.address() as AddressInfo).port)}/api`;
      const client = createClient({ apiKey: 'key-of-forge-1', rateLimit: false }).use(
        defineApi({ name: 'forge', sources: { repos: reposOf(), issues: issuesOf() } })({ baseUrl }),
      );
      return {
        source: () => client.forge.issues(),
        requests: () => ({ made: sent.length, open, sent }),
        answer: (answering) => (how = answering),
        dispose: async () => {
          await client.close();
          server.closeAllConnections();
          server.close();
        },
      };
    },
  });
});
