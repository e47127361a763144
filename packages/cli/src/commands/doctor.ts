import { aptos } from '@sluice/aptos';
import { createClient, type Client, type PageSource } from '@sluice/core';
import { streams } from '@sluice/streams';
import { apiFinding, missingAddress } from '../doctor/apiFinding.js';
import { findingLine, type Finding } from '../doctor/finding.js';
import { configFindings } from '../doctor/configFindings.js';
import { keyFinding } from '../doctor/keyFinding.js';
import { nodeFinding } from '../doctor/nodeFinding.js';
import { probe } from '../doctor/probe.js';
import { proxyFinding } from '../doctor/proxyFinding.js';
import type { Environment } from '../environment.js';
import { exitCodes } from '../faults/exitCodes.js';
import { scrubbed } from '../faults/scrubbed.js';
import type { Invocation } from '../invocation.js';
import { findBaseUrl, type ApiName } from '../settings/baseUrl.js';
import { clientOptions, type ConnectionOptions } from '../settings/openClient.js';

/** Options of `sluice doctor`. */
export interface DoctorOptions extends ConnectionOptions {
  /** Only what fails. */
  readonly quiet?: boolean;
}

/** One row of each API, as cheap a request as there is. An address without NFTs is as good as any. */
const smallest: Readonly<Record<ApiName, (client: Client, baseUrl: string) => Pick<PageSource<unknown>, 'pages'>>> = {
  streams: (client, baseUrl) => client.use(streams({ baseUrl })).streams.list({ pageSize: 1, maxRows: 1 }),
  aptos: (client, baseUrl) =>
    client.use(aptos({ baseUrl })).aptos.walletNfts({ ownerAddresses: ['0x1'], pageSize: 1, maxRows: 1 }),
};

/** `sluice doctor`: checks the settings, and asks each API that has an address for one row. Answers 1 if something fails. */
export async function doctor(
  options: DoctorOptions,
  environment: Environment,
  invocation: Invocation,
): Promise<number> {
  const { stdout, secrets } = environment;
  let hasFailed = false;
  for await (const finding of findings(options, environment, invocation)) {
    hasFailed ||= finding.level === 'fail';
    if (options.quiet && finding.level !== 'fail') continue;
    await stdout.write(scrubbed(findingLine(finding, stdout.colors), secrets));
  }
  return hasFailed ? exitCodes.failed : exitCodes.done;
}

async function* findings(
  options: DoctorOptions,
  environment: Environment,
  invocation: Invocation,
): AsyncGenerator<Finding> {
  const { variables, signal, nodeVersion } = environment;
  yield nodeFinding(nodeVersion);
  yield proxyFinding(variables);
  yield* configFindings(invocation, environment);
  const { finding, key } = await keyFinding(options.apiKeyFile, environment);
  yield finding;
  const addresses = (['streams', 'aptos'] as const).map((api) => ({
    api,
    address: findBaseUrl(api, options, variables),
  }));
  const hasNone = addresses.every(({ address }) => address === undefined);
  for (const { api, address } of addresses) {
    if (address === undefined) {
      yield missingAddress(api, hasNone ? 'fail' : 'warn');
      continue;
    }
    yield await apiFinding(api, address, async () => {
      // Each API gets a client of its own, since one wrong address closes the client that was to use it. Without a key the address
      // is still checked, but nothing is sent.
      await using client = createClient({ ...clientOptions(options, key ?? 'none'), retry: { retries: 1 } });
      const source = smallest[api](client, address);
      return key === undefined ? undefined : await probe(client, source, signal);
    });
  }
}
