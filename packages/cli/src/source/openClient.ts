import { aptos } from '@sluice/aptos';
import { type Client, type ClientOptions, createClient, SluiceError, type Timeouts } from '@sluice/core';
import { streams } from '@sluice/streams';
import { type Observable, startWith } from 'rxjs';
import type { Config } from '../config/config.js';
import type { Environment } from '../environment/environment.js';
import { sentenceOf } from '../errors/cliTerms.js';
import { UsageError } from '../errors/errors.js';
import { errorSentence } from '../errors/formatError.js';
import { type ApiName, apiNames, apis, baseUrlOf, type BaseUrls, givenAs, isApiName } from '../input/baseUrl.js';
import { findApiKey, missingKey } from '../input/secrets.js';
import type { GroupOptions } from '../options/commandOptions.js';
import { type Notice, noticesOf } from '../progress/notices.js';
import { visibleText } from '../terminal/text.js';

/** Options of every command that talks to an API. */
export type ConnectionOptions = GroupOptions<'anyApi'>;

/** What a client is made with, given a key; `false`: none is sent. */
export function clientOptions({ rate, timeout, retryFor }: ConnectionOptions, apiKey: string | false): ClientOptions {
  return {
    apiKey,
    ...(rate !== undefined && { rateLimit: rate }),
    ...(timeout !== undefined && { timeouts: timeoutsFor(timeout, retryFor) }),
    ...(retryFor !== undefined && { retry: { for: retryFor } }),
  };
}

/** A client, and what it and its plugins have to say. */
interface OpenClient<C extends Client> {
  readonly client: C;
  readonly notices: Observable<Notice>;
}

/**
 * A client with the key, the rate and the deadlines of a command line, and with the plugins of its configuration; the caller closes it.
 * The command line's own APIs need a key. Whether a plugin's does, only its author knows: it is asked without one where there is none.
 *
 * @param add adds what the command is about.
 * @throws UsageError if a key that is needed, or an address, is missing; what a plugin raises that can't be added.
 */
export async function openClient<Added>(
  options: ConnectionOptions,
  environment: Environment,
  { plugins }: Pick<Config, 'plugins'>,
  add: (client: Client) => Client & Added,
): Promise<OpenClient<Client & Added>> {
  const found = await findApiKey(options.apiKeyFile, environment);
  const client = createClient(clientOptions(options, found?.key ?? false));
  // Before plugins are added: they may have something to say.
  const notices = noticesOf(client);
  try {
    const added = add(client);
    addRequired(client, plugins, options, environment);
    if (!found && apiNames.some((name) => name in client)) throw missingKey();
    for (const plugin of plugins) client.use(plugin);
    const warnings = Array.from(environment.warnings, (message): Notice => ({ level: 'warning', message }));
    return { client: added, notices: notices.pipe(startWith(...warnings)) };
  } catch (error) {
    // What closing raises must not hide why it is closed.
    await client.close().catch(() => undefined);
    throw addressError(error, options);
  }
}

/**
 * What the library refuses about an address, with the option or the variable that it came from. Any other fault stays as it is.
 */
export function addressError(error: unknown, options: BaseUrls): unknown {
  if (!SluiceError.is(error, 'config') || error.details['option'] !== 'baseUrl') return error;
  const api = String(error.details['plugin']);
  if (!isApiName(api)) return error;
  const { name, option, variable } = apis[api];
  const from = givenAs(api, options) === undefined ? variable : option;
  return new UsageError(
    sentenceOf(error).replace(`The base URL of ${api}`, `The base URL of the ${name} (${from})`),
  );
}

/** Adds those of the command line's own APIs that plugins require. @throws UsageError if the address of one is not set. */
export function addRequired(
  client: Client,
  plugins: Config['plugins'],
  options: BaseUrls,
  { variables }: Pick<Environment, 'variables'>,
): void {
  for (const name of apiNames)
    if (isRequired(name, plugins) && !(name in client)) addApi(client, name, baseUrlOf(name, options, variables));
}

/** Whether a plugin requires one of the command line's own APIs. */
export function isRequired(name: ApiName, plugins: Config['plugins']): boolean {
  return plugins.some(({ requires = [] }) => requires.includes(name));
}

/** Adds the API of a source, if it is one of the command line's own. @throws UsageError if its address is not set. */
export function apisOf(
  { api }: { readonly api?: ApiName },
  options: BaseUrls,
  { variables }: Pick<Environment, 'variables'>,
): (client: Client) => Client {
  if (!api) return (client) => client;
  const baseUrl = baseUrlOf(api, options, variables);
  return (client) => addApi(client, api, baseUrl);
}

/** Adds one of the command line's own APIs. */
function addApi(client: Client, name: ApiName, baseUrl: string): Client {
  return name === 'streams' ? client.use(streams({ baseUrl })) : client.use(aptos({ baseUrl }));
}

/**
 * Works with a client and closes it, so that its plugins are disposed of, also where the work failed.
 *
 * @throws what the work raises; else PluginError, if a plugin could not be disposed of.
 */
export async function withClient<C extends Client, R>(
  opening: Promise<OpenClient<C>>,
  { stderr }: Pick<Environment, 'stderr'>,
  work: (client: C, notices: OpenClient<C>['notices']) => Promise<R>,
): Promise<R> {
  const { client, notices } = await opening;
  let result: R;
  try {
    result = await work(client, notices);
  } catch (fault) {
    // That this fails too must not hide why.
    await client.close().catch((error: unknown) => {
      stderr.tell(`sluice: ${visibleText(errorSentence(error))}\n`);
    });
    throw fault;
  }
  await client.close();
  return result;
}

const longestConnect = 10_000;
/** A request may take as many times its answer's deadline, retries and back-offs included … */
const totalPerResponse = 6;
/** … but never less than this, or a short deadline would leave no time for back-offs. */
const minTotal = 60_000;

/** … and always this much more than a fault is tried. */
const beyondRetries = 120_000;

/**
 * The deadlines in ms that go with one for an answer.
 *
 * @param retryFor ms for which a fault is tried, where that was said.
 * @example timeoutsFor(30_000) // { connect: 10_000, response: 30_000, total: 180_000 }, the library's own
 */
export function timeoutsFor(response: number, retryFor = -beyondRetries): Timeouts {
  return {
    connect: Math.min(longestConnect, response),
    response,
    total: Math.max(minTotal, totalPerResponse * response, retryFor + beyondRetries),
  };
}

/** Where nobody is. */
const nowhere = 'https://api.invalid';

/**
 * Works with all plugins and the command line's own APIs, without a key or an address: nothing can be requested. They are disposed of
 * afterwards.
 *
 * @throws what a plugin raises that can't be added, and what the work raises.
 */
export async function withPlugins<R>(
  { plugins }: Pick<Config, 'plugins'>,
  environment: Pick<Environment, 'stderr'>,
  work: (client: Client) => Promise<R>,
): Promise<R> {
  const client = createClient({ apiKey: 'no-key-is-asked-for' });
  return withClient(Promise.resolve({ client, notices: noticesOf(client) }), environment, async (open) => {
    for (const name of apiNames) addApi(open, name, nowhere);
    for (const plugin of plugins) open.use(plugin);
    return await work(open);
  });
}
