import { resolve } from 'node:path';
import { type EndpointOptions, webhook } from '@sluice/exporters/webhook';
import type { Config } from '../config/config.js';
import type { Environment } from '../environment/environment.js';
import { UsageError } from '../errors/errors.js';
import { readHeaders } from '../input/readHeaders.js';
import { isReadable, standardInput } from '../input/readInput.js';
import { findWebhookSecrets, secretOption } from '../input/secretVariables.js';
import type { GroupOptions } from '../options/options.js';
import type { OptionsOf } from '../options/commands.js';
import { chooseRetries } from '../source/openClient.js';
import { describeDeliveries, type ForwardPlaces } from './deliveries.js';
import { findStore } from './stateStore.js';
import type { Target } from './target.js';

/** Options of every command that forwards rows or changes. */
export type ForwardOptions = GroupOptions<'forward'> &
  WebhookChoice &
  OptionsOf<'maxSpool' | 'state' | 'breakLock' | 'trustFilesystem'>;

/** The webhook of a command line. Messages name only the origin of its URL. */
export async function forwardTarget<T extends object>(
  url: string,
  options: ForwardOptions,
  environment: Environment,
  config: Config,
): Promise<Target<T>> {
  const { batch, deliveries, maxDeadLetters, maxSpool, onDead, breakLock, trustFilesystem: trustFileSystem } = options;
  if (options.state === '') throw new UsageError('--state is empty: give the name of a folder.');
  if (options.deadLetters === '') throw new UsageError('--dead-letters is empty: give the name of a file.');
  const { deadLetter, ...places } = choosePlaces(url, options, config, environment);
  const { warnings, ...listeners } = describeDeliveries(places.deadLetters);
  const sink = webhook<T>({
    ...(await webhookOptions(url, options, environment)),
    ...listeners,
    deadLetter,
    batch,
    deliveries,
    maxDeadLetters,
    maxSpool,
    onDead,
    breakLock,
    trustFileSystem,
  });
  return {
    kind: 'webhook',
    name: new URL(url).origin,
    format: 'json',
    state: places.state,
    open: () => Promise.resolve(sink),
    forwarding: { ...places, warnings },
  };
}

/**
 * A state in a database has the dead letters, too, unless they are given a file. If it is in a plugin's store, the name of
 * their file comes from the URL.
 */
function choosePlaces(
  url: string,
  { state, deadLetters }: Partial<ForwardPlaces>,
  config: Config,
  environment: Environment,
): ForwardPlaces & { readonly deadLetter: string | true } {
  const store = state === undefined ? undefined : findStore(state, config, environment, '--state');
  if (store?.isDatabase && deadLetters === undefined)
    return { state: store.shown, deadLetters: store.shown, deadLetter: true };
  const given = { ...(state !== undefined && !store && { state }), ...(deadLetters !== undefined && { deadLetters }) };
  const places = { ...forwardPlaces(url, given), ...(store && { state: store.shown }) };
  return { ...places, deadLetter: resolve(environment.folder, places.deadLetters) };
}

/** Options of every command that sends to a webhook. */
type WebhookChoice = OptionsOf<
  | 'secretFile'
  | 'headerFile'
  | 'allowAddress'
  | 'deliveries'
  | 'deliveryRate'
  | 'timeout'
  | 'retryFor'
  | 'maxRetryAfter'
>;

/** @throws UsageError if there is no secret, or a file can't be read. */
export async function webhookOptions(
  url: string,
  options: WebhookChoice,
  environment: Environment,
): Promise<EndpointOptions> {
  const { secretFile, headerFile, allowAddress, deliveryRate, timeout } = options;
  const read = async () => ({
    secret: await findWebhookSecrets(secretFile, environment),
    headers: headerFile === undefined ? undefined : await readHeaders(headerFile, environment),
  });
  let credentials = await read();
  const connection = {
    url,
    allowAddresses: allowAddress,
    timeout,
    rateLimit: deliveryRate,
    retry: chooseRetries(options),
  };
  const files = [isReadable(secretFile) && secretOption, isReadable(headerFile) && '--header-file'].filter(Boolean);
  if (files.length === 0 || [secretFile, headerFile].includes(standardInput)) return { ...connection, ...credentials };
  environment.secretFiles.add(files.join(', '), async () => {
    const again = await read();
    // Refuses what can't be sent.
    webhook({ ...connection, ...again });
    credentials = again;
  });
  return { ...connection, secret: () => credentials.secret, headers: () => credentials.headers ?? {} };
}

/**
 * The default names come from the webhook's host. The name of the dead letters comes from `--state` if given, so that
 * forwards with separate states have separate dead letters.
 *
 * @example forwardPlaces('https://hooks.example.com/changes', {})
 * // { state: 'hooks.example.com.sluice', deadLetters: 'hooks.example.com.dead.jsonl' }
 */
export function forwardPlaces(url: string, given: Partial<ForwardPlaces>): ForwardPlaces {
  const state = given.state ?? `${nameHost(url)}.sluice`;
  const { deadLetters = `${state.replace(/[/\\]+$/, '').replace(/\.sluice$/, '')}.dead.jsonl` } = given;
  return { state, deadLetters };
}

/** The host and port of a URL, as part of a file name. */
function nameHost(url: string): string {
  const host = URL.canParse(url) ? new URL(url).host : '';
  return host.replace(/[^\w.-]+/g, '-').replace(/^[-.]+|[-.]+$/g, '') || 'webhook';
}
