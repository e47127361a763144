import { startSandbox, type Sandbox, type SandboxOptions } from '@sluice/sandbox';
import { onTestEnd } from '../../../scripts/testScope.js';
import {
  createClient,
  createSource,
  type Client,
  type ClientOptions,
  type Plugin,
  type Source,
  type SourceDefinition,
} from '../src/index.js';
import { documentReader } from '../src/define/responses/documentReader.js';

/** A row of the sandbox's holdings, as far as these tests look at it. */
export type Row = Record<string, unknown>;

export interface HoldingsOptions extends Partial<Pick<SourceDefinition<Row>, 'maxRows' | 'maxPages' | 'offset'>> {
  readonly pageSize?: number;
  /** Each inner list of owners is a part. Default: all owners in one part. */
  readonly partitions?: readonly (readonly string[])[];
}

interface HoldingsApi {
  list(options?: HoldingsOptions): Source<Row>;
}

/** The wallets' endpoint as a plugin of this test's own, made of what core publishes. */
function holdings(sandbox: Sandbox): Plugin<'holdings', HoldingsApi> {
  const route = 'test.holdings';
  const read = documentReader(route);
  return {
    name: 'holdings',
    setup({ endpoint }) {
      const api = endpoint(sandbox.aptosUrl);
      const responses = { 400: 'expired-cursor' } as const;
      return {
        list({ pageSize = 100, partitions = [sandbox.owners], ...bounds } = {}) {
          return createSource<Row>({
            name: route,
            identity: { partitions, pageSize },
            schema: { columns: ['name', 'amount'] },
            partitions: partitions.length,
            ...bounds,
            endpoint: api,
            async fetch({ partition, at, atLeast, signal }) {
              const query = { limit: Math.max(pageSize, atLeast), owner_addresses: partitions[partition] ?? [], ...at };
              const body = read.record(
                await api.request({ route, path: '/wallets/nfts', query, signal, responses }),
                '',
              );
              const cursor = read.cursor(body['cursor'], 'cursor');
              const rows = read.rows(body['result']).map((row, index) => read.record(row, `result[${String(index)}]`));
              if (body['hasNextPage'] !== true) return { rows, next: 'end' };
              return { rows, next: cursor === undefined ? 'by-offset' : { cursor } };
            },
          });
        },
      };
    },
  };
}

/** A sandbox and a client of it, both closed when the test ends. */
export async function startHoldings(
  options: SandboxOptions = {},
  clientOptions: Partial<ClientOptions> = {},
): Promise<{ sandbox: Sandbox; client: Client; list: HoldingsApi['list'] }> {
  const sandbox = await startSandbox(options);
  const client = createClient({ apiKey: sandbox.apiKey, rateLimit: false, ...clientOptions }).use(holdings(sandbox));
  onTestEnd(async () => {
    await client.close();
    await sandbox.close();
  });
  return { sandbox, client, list: client.holdings.list };
}
