import { aptos } from '@sluice/aptos';
import { createClient, SluiceError, sourcesOf, type Client, type ClientOptions, type PageSource } from '@sluice/core';
import { streams } from '@sluice/streams';
import { apiFinding, missingAddress, sourceFinding } from './doctor/apis.js';
import { type Finding, findingLine, probe } from './doctor/finding.js';
import { configFindings, keyFinding, nodeFinding, proxyFinding } from './doctor/settings.js';
import type { Environment } from '../environment/environment.js';
import { exitCodes } from '../errors/errors.js';
import { errorSentence } from '../errors/formatError.js';
import { scrubbedValues } from '../errors/redact.js';
import type { Invocation } from '../config/config.js';
import type { CommandOptions } from '../options/commandOptions.js';
import { apiNames, findBaseUrl, type ApiName } from '../input/baseUrl.js';
import { addRequired, clientOptions, isRequired } from '../source/openClient.js';

type DoctorOptions = CommandOptions<'doctor'>;

/** One row of each API, as cheap a request as there is. An address without NFTs is as good as any. */
const smallest: Readonly<Record<ApiName, (client: Client, baseUrl: string) => Pick<PageSource<unknown>, 'pages'>>> = {
  streams: (client, baseUrl) => client.use(streams({ baseUrl })).streams.list({ pageSize: 1, maxRows: 1 }),
  aptos: (client, baseUrl) =>
    client.use(aptos({ baseUrl })).aptos.walletNfts({ ownerAddresses: ['0x1'], pageSize: 1, maxRows: 1 }),
};

/**
 * `sluice doctor`: checks the settings, and asks what is in use for one row: the command line's own APIs where they have an address, and
 * each source of a plugin's that needs no parameters. Answers 1 if something fails that is in use, or if nothing is.
 */
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
    await stdout.write(scrubbedValues(findingLine(finding, stdout.colors), secrets));
  }
  return hasFailed ? exitCodes.failed : exitCodes.done;
}

async function* findings(
  options: DoctorOptions,
  environment: Environment,
  invocation: Invocation,
): AsyncGenerator<Finding> {
  const { variables, signal, nodeVersion } = environment;
  const { plugins } = invocation.config;
  yield nodeFinding(nodeVersion);
  yield proxyFinding(variables);
  const sources = yield* configFindings(invocation, environment);
  const own = apiNames.map((api) => ({
    ...{ api, address: findBaseUrl(api, options, variables) },
    isWanted: isRequired(api, plugins),
  }));
  const isOwnInUse = own.some(({ address, isWanted }) => address !== undefined || isWanted);
  const isNothingInUse = !isOwnInUse && sources?.length === 0;
  const { finding, key } = await keyFinding(options.apiKeyFile, environment, isOwnInUse || isNothingInUse);
  yield finding;
  for (const { api, address, isWanted } of own) {
    if (address === undefined) {
      yield missingAddress(api, isWanted || isNothingInUse ? 'fail' : 'warn');
      continue;
    }
    yield await apiFinding(api, address, options, async () => {
      // Each API gets a client of its own, since one wrong address closes the client that was to use it. Without a key the address
      // is still checked, but nothing is sent.
      await using client = createClient(quick(options, key));
      const source = smallest[api](client, address);
      return key === undefined ? undefined : await probe(client, source, signal);
    });
  }
  if (!sources || sources.length === 0) return;
  if (finding.level === 'fail' || own.some(({ address, isWanted }) => isWanted && address === undefined)) {
    yield { level: 'warn', subject: 'plugins', text: 'their sources were not asked, since something else fails' };
    return;
  }
  yield* sourceFindings(sources, key, options, environment, invocation);
}

/** How the sources of plugins answer, all with one client, as plugins may rely on each other. */
async function* sourceFindings(
  names: readonly string[],
  key: string | undefined,
  options: DoctorOptions,
  environment: Environment,
  { config: { plugins } }: Pick<Invocation, 'config'>,
): AsyncGenerator<Finding> {
  await using client = createClient(quick(options, key));
  try {
    addRequired(client, plugins, options, environment);
    for (const plugin of plugins) client.use(plugin);
  } catch (error) {
    if (!SluiceError.is(error)) throw error;
    yield { level: 'fail', subject: 'plugins', text: errorSentence(error) };
    return;
  }
  for (const [name, source] of sourcesOf(client))
    if (names.includes(name))
      yield await sourceFinding(source, key !== undefined, (made) => probe(client, made, environment.signal));
}

/** Whoever waits for a finding does not want to wait for an outage to pass. */
function quick(options: DoctorOptions, key: string | undefined): ClientOptions {
  return {
    ...clientOptions(options, key ?? false),
    retry: options.retryFor === undefined ? { retries: 1 } : { for: options.retryFor },
  };
}
