import { resolve } from 'node:path';
import { webhook } from '@sluice/exporters/webhook';
import type { Config } from '../config/config.js';
import type { Environment } from '../environment.js';
import { UsageError } from '../faults/usageError.js';
import { tallyDeliveries } from './deliveryTally.js';
import { endpointOptions, type EndpointChoice } from './endpointOptions.js';
import { forwardPlaces, type ForwardPlaces } from './forwardPlaces.js';
import { namedTarget } from '../target/namedTarget.js';
import type { Target } from '../target/target.js';

/** Options of every command that forwards rows or changes to an endpoint. */
export interface ForwardOptions extends EndpointChoice, Partial<ForwardPlaces> {
  /** Its address. Never shown beyond its origin. */
  readonly forward?: string;
  readonly batch?: number;
  readonly maxDeadLetters?: number;
  readonly onDead?: 'continue' | 'park';
  readonly breakLock?: boolean;
  readonly trustFilesystem?: boolean;
}

/**
 * The webhook that a command line asks for.
 *
 * @throws UsageError, ConfigError or ForbiddenAddressError if it can't be one, before anything is sent.
 */
export async function forwardTarget<T extends object>(
  url: string,
  options: ForwardOptions,
  environment: Environment,
  config: Config,
): Promise<Target<T>> {
  const { batch, concurrency, maxDeadLetters, onDead, breakLock, trustFilesystem } = options;
  if (options.state === '') throw new UsageError('--state is empty: give the name of a folder.');
  if (options.deadLetters === '') throw new UsageError('--dead-letters is empty: give the name of a file.');
  const places = placesOf(url, options, config);
  const { tally, ...listeners } = tallyDeliveries();
  const sink = webhook<T>({
    ...(await endpointOptions(url, options, environment)),
    ...listeners,
    deadLetter: resolve(environment.folder, places.deadLetters),
    ...(batch !== undefined && { batch }),
    ...(concurrency !== undefined && { concurrency }),
    ...(maxDeadLetters !== undefined && { maxDeadLetters }),
    ...(onDead && { onDead }),
    ...(breakLock !== undefined && { breakLock }),
    ...(trustFilesystem !== undefined && { trustFileSystem: trustFilesystem }),
  });
  return {
    ...{ kind: 'endpoint', name: new URL(url).origin, format: 'json', state: places.state },
    open: () => Promise.resolve(sink),
    forwarding: { ...places, tally },
  };
}

/** A store of a plugin's gives dead letters no name. */
function placesOf(url: string, { state, deadLetters }: Partial<ForwardPlaces>, config: Config): ForwardPlaces {
  const store = state === undefined ? undefined : namedTarget(state, 'stores', config);
  const given = { ...(state !== undefined && !store && { state }), ...(deadLetters !== undefined && { deadLetters }) };
  return { ...forwardPlaces(url, given), ...(store && { state: store.shown }) };
}
