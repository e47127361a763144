import { aptos } from '@sluice/aptos';
import { createClient, type Client, type ClientOptions } from '@sluice/core';
import { streams } from '@sluice/streams';
import { startWith, type Observable } from 'rxjs';
import type { Config } from '../config/config.js';
import type { Environment } from '../environment.js';
import { notesOf, type Note } from '../terminal/notesOf.js';
import { faultSentence } from '../faults/faultSentence.js';
import type { Rate } from '../options/parseRate.js';
import { visibleText } from '../terminal/visibleText.js';
import { addressFault, apiNames, baseUrlOf, type ApiName, type BaseUrls } from './baseUrl.js';
import { findApiKey, missingKey } from './findApiKey.js';
import { timeoutsFor } from './timeoutsFor.js';

/** Options of every command that talks to an API. */
export interface ConnectionOptions extends BaseUrls {
  /** `false`: unlimited. Absent: the library's default. */
  readonly rate?: Rate | false;
  /** Longest time for one answer, in ms. */
  readonly timeout?: number;
  /** Ms for which a fault that may pass is tried. Default: the library's. */
  readonly retryFor?: number;
  readonly apiKeyFile?: string;
}

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
export interface OpenClient<C extends Client> {
  readonly client: C;
  readonly notes: Observable<Note>;
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
  const notes = notesOf(client);
  try {
    const added = add(client);
    addRequired(client, plugins, options, environment);
    if (!found && apiNames.some((name) => name in client)) throw missingKey();
    for (const plugin of plugins) client.use(plugin);
    const warnings = Array.from(environment.warnings, (message): Note => ({ level: 'warning', message }));
    return { client: added, notes: notes.pipe(startWith(...warnings)) };
  } catch (error) {
    // What closing raises must not hide why it is closed.
    await client.close().catch(() => undefined);
    throw addressFault(error, options);
  }
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
export function addApi(client: Client, name: ApiName, baseUrl: string): Client {
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
  work: (client: C, notes: OpenClient<C>['notes']) => Promise<R>,
): Promise<R> {
  const { client, notes } = await opening;
  let result: R;
  try {
    result = await work(client, notes);
  } catch (fault) {
    // That this fails too must not hide why.
    await client.close().catch((error: unknown) => {
      stderr.tell(`sluice: ${visibleText(faultSentence(error))}\n`);
    });
    throw fault;
  }
  await client.close();
  return result;
}
