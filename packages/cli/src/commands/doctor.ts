import { aptos } from '@sluice/aptos';
import { createClient, SluiceError, type Client, type ClientOptions } from '@sluice/core';
import { sourcesOf } from '@sluice/core/define';
import type { PageSource } from '@sluice/core/kit';
import { streams } from '@sluice/streams';
import { apiFinding, missingBaseUrl, sourceFinding } from './doctor/apis.js';
import { finding, type Finding, findingLine, probe } from './doctor/finding.js';
import {
  configFindings,
  hasOwnAuth,
  keyFinding,
  locksFinding,
  nodeFinding,
  type PluginApis,
  proxyFinding,
} from './doctor/settings.js';
import { RateNote } from './doctor/rateNote.js';
import type { Environment } from '../environment/environment.js';
import { exitCodes } from '../errors/errors.js';
import { errorSentence } from '../options/formatError.js';
import { redactValues } from '../errors/redact.js';
import type { Invocation, Run } from '../config/config.js';
import type { CommandOptions } from '../options/commands.js';
import { apiNames, findBaseUrl, type ApiName } from '../input/baseUrl.js';
import { unsetVariables } from '../source/describe.js';
import { addRequired, clientOptions, isRequired } from '../source/openClient.js';
import { formatDuration } from '../terminal/format.js';

/** The cheapest request of each API: one row. The wallet need not have NFTs. */
const smallestRequest: Readonly<
  Record<ApiName, (client: Client, baseUrl: string) => Pick<PageSource<unknown>, 'pages'>>
> = {
  streams: (client, baseUrl) => client.use(streams({ baseUrl })).streams.list({ pageSize: 1, maxRows: 1 }),
  aptos: (client, baseUrl) =>
    client.use(aptos({ baseUrl })).aptos.nfts({ ownerAddresses: ['0x1'], pageSize: 1, maxRows: 1 }),
};

/**
 * `sluice doctor`: checks the settings, and requests one row from each built-in API that has a base URL and from each
 * source of a plugin without required parameters. Returns 1 if something in use fails, or if nothing is in use.
 */
export const doctor: Run<'doctor'> = async (options, environment, invocation) => {
  const { stdout, secrets } = environment;
  const { json = false, quiet = false } = options;
  const shown: Finding[] = [];
  let hasFailed = false;
  for await (const found of findings(options, environment, invocation)) {
    hasFailed ||= found.level === 'fail';
    if (quiet && found.level !== 'fail') continue;
    shown.push(found);
    if (!json) await stdout.write(redactValues(findingLine(found, stdout.colors), secrets));
  }
  if (json) await stdout.write(redactValues(`${JSON.stringify({ isWell: !hasFailed, findings: shown })}\n`, secrets));
  return hasFailed ? exitCodes.failed : exitCodes.done;
};

async function* findings(
  options: CommandOptions<'doctor'>,
  environment: Environment,
  invocation: Invocation,
): AsyncGenerator<Finding> {
  const { variables, signal, nodeVersion, folder } = environment;
  const { plugins } = invocation.config;
  yield nodeFinding(nodeVersion);
  yield proxyFinding(variables);
  yield await locksFinding(folder);
  const known = yield* configFindings(invocation, environment);
  const own = apiNames.map((api) => ({
    api,
    address: findBaseUrl(api, options, variables),
    isWanted: isRequired(api, plugins),
  }));
  const isOwnInUse = own.some(({ address, isWanted }) => address !== undefined || isWanted);
  const isNothingInUse = !isOwnInUse && known?.sources.length === 0;
  const { finding: keyed, key } = await keyFinding(options.apiKeyFile, environment, {
    isNeeded: isOwnInUse || isNothingInUse,
    isUnused: known?.apis.every(hasOwnAuth) ?? false,
  });
  yield keyed;
  for (const { api, address, isWanted } of own) {
    if (address === undefined) {
      yield missingBaseUrl(api, isWanted || isNothingInUse ? 'fail' : 'warn');
      continue;
    }
    const rate = new RateNote();
    yield await apiFinding(api, address, options, environment, rate, async () => {
      // One client per API, since a wrong base URL closes the client. Without a key, this only checks the base URL.
      await using client = createClient({ ...quickOptions(options, key, environment), links: [rate.link] });
      const source = smallestRequest[api](client, address);
      return key === undefined ? undefined : await probe(client, source, signal);
    });
  }
  if (known === undefined || known.sources.length === 0) return;
  if (keyed.level === 'fail' || own.some(({ address, isWanted }) => isWanted && address === undefined)) {
    yield finding('warn', 'plugins', 'their sources were not asked, since something else fails');
    return;
  }
  yield* sourceFindings(known, key, options, environment, invocation);
}

/** Ms of a pause, asked for by an API, that its next source waits for. */
const longestPause = 60_000;

/** Probes the sources of plugins with a single client, since plugins may depend on each other. */
async function* sourceFindings(
  { apis, sources }: PluginApis,
  key: string | undefined,
  options: CommandOptions<'doctor'>,
  environment: Environment,
  { config: { plugins } }: Pick<Invocation, 'config'>,
): AsyncGenerator<Finding> {
  const rate = new RateNote();
  await using client = createClient({ ...quickOptions(options, key, environment), links: [rate.link] });
  const warnings: Finding[] = [];
  client.eventsOf('warning').subscribe(({ plugin, message }) => {
    warnings.push(finding('warn', plugin, message));
  });
  const failed = openPlugins(client, plugins, options, environment);
  if (failed) {
    yield failed;
    return;
  }
  for (const [name, source] of sourcesOf(client)) {
    const api = apis.find((each) => name.startsWith(`${each.name}.`));
    // Without its credentials, its sources would only fail in the same way.
    const isWithout = api && hasOwnAuth(api) && unsetVariables(api, environment.variables).length > 0;
    if (!sources.includes(name) || isWithout) continue;
    const credentials = api && hasOwnAuth(api) ? 'own' : key === undefined ? 'none' : 'key';
    const { pausedFor } = client.limiters.get(api?.name ?? '') ?? client.limiter;
    yield pausedFor > longestPause
      ? finding('warn', name, `was not asked, since its API wants no request for ${formatDuration(pausedFor)}`)
      : await sourceFinding(source, credentials, environment, rate, (rows) => probe(client, rows, environment.signal));
    // E.g. that its API gets the key of another one, which the client notices with the first request.
    yield* warnings.splice(0);
  }
}

/** Gives the client the plugins, and the built-in APIs that they require. Returns why that fails. */
function openPlugins(
  client: Client,
  plugins: Invocation['config']['plugins'],
  options: CommandOptions<'doctor'>,
  environment: Environment,
): Finding | undefined {
  try {
    addRequired(client, plugins, options, environment);
    for (const plugin of plugins) client.use(plugin);
    return undefined;
  } catch (error) {
    if (!SluiceError.is(error)) throw error;
    return finding('fail', 'plugins', errorSentence(error, environment.hasFlag));
  }
}

/** Without `--retry-for`, retries only once, so that an outage is reported quickly. */
function quickOptions(
  options: CommandOptions<'doctor'>,
  key: string | undefined,
  environment: Environment,
): ClientOptions {
  const usual = clientOptions(options, key ?? false, environment);
  return options.retryFor === undefined ? { ...usual, retry: { ...usual.retry, retries: 1 } } : usual;
}
