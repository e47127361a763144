// The export of exportHoldings.ts as people write it by hand, to compare: a loop with a rate, retries and a state.
// After `npm start`: cd examples && npx tsx byHand.ts
import { appendFile, readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { startSandbox } from '@sluice/sandbox';
import { temporaryFolder } from './temporaryFolder.js';

// Simulates the API, so that this runs without a key.
await using sandbox = await startSandbox({ holdings: 500, nasty: 0 });
const { apiKey, aptosUrl, owners } = sandbox;
const path = join(temporaryFolder(), 'holdings.csv');

interface Page {
  result: Record<string, unknown>[];
  cursor: string;
  hasNextPage: boolean;
}

interface State {
  owner: number;
  cursor?: string;
}

const columns = ['id', 'owner_address', 'collection_hash', 'token_data_id_hash', 'name', 'amount'];
let lastRequest = 0;

async function getPage(owner = '', cursor?: string): Promise<Page> {
  const query = new URLSearchParams({ limit: '100', 'owner_addresses[]': owner, ...(cursor && { cursor }) });
  for (let attempt = 0; ; attempt += 1) {
    // 25 requests in a second.
    await delay(Math.max(0, lastRequest + 40 - Date.now()));
    lastRequest = Date.now();
    try {
      const response = await fetch(`${aptosUrl}/wallets/nfts?${query}`, {
        headers: { 'X-API-Key': apiKey },
        signal: AbortSignal.timeout(30_000),
      });
      if (response.ok) {
        // eslint-disable-next-line @typescript-eslint/no-unsafe-assignment -- by hand, the type is a belief
        const page: Page = await response.json();
        return page;
      }
      if (response.status !== 429 && response.status < 500)
        throw new Error(`HTTP ${response.status}`, { cause: 'final' });
      const after = Number(response.headers.get('retry-after'));
      await delay(after > 0 ? after * 1000 : 500 * 2 ** attempt);
    } catch (error) {
      if (attempt === 5 || (error instanceof Error && error.cause === 'final')) throw error;
      await delay(500 * 2 ** attempt);
    }
  }
}

function toCsv(row: Record<string, unknown>): string {
  const fields = columns.map((column) => {
    const value = row[column] ?? '';
    const text = typeof value === 'string' ? value : JSON.stringify(value);
    return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  });
  return `${fields.join()}\r\n`;
}

async function readState(): Promise<State> {
  const text = await readFile(`${path}.state`, 'utf8').catch(() => '{"owner":0}');
  // eslint-disable-next-line @typescript-eslint/no-unsafe-assignment -- by hand, the type is a belief
  const state: State = JSON.parse(text);
  return state;
}

const state = await readState();
if (state.owner === 0 && state.cursor === undefined) await writeFile(`${path}.part`, `${columns.join()}\r\n`);
while (state.owner < owners.length) {
  const { result, cursor, hasNextPage } = await getPage(owners[state.owner], state.cursor);
  await appendFile(`${path}.part`, result.map(toCsv).join(''));
  if (hasNextPage) state.cursor = cursor;
  else {
    state.owner += 1;
    delete state.cursor;
  }
  await writeFile(`${path}.state`, JSON.stringify(state));
}
await rename(`${path}.part`, path);
console.log(`${path} is complete`);
