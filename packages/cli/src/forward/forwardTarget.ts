import { resolve } from 'node:path';
import type { Sink } from '@sluice/core';
import { webhook } from '@sluice/exporters/webhook';
import type { Environment } from '../environment.js';
import { UsageError } from '../faults/usageError.js';
import { tallyDeliveries } from './deliveryTally.js';
import { endpointOptions, type EndpointChoice } from './endpointOptions.js';
import type { Forwarding } from './forwarding.js';
import { forwardPlaces, type ForwardPlaces } from './forwardPlaces.js';

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

/** An endpoint as a target. */
export interface ForwardTarget<T> {
  readonly sink: Sink<T>;
  /** Its origin. */
  readonly name: string;
  readonly format: 'json';
  /** The folder of its state. */
  readonly state: string;
  readonly forwarding: Forwarding;
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
): Promise<ForwardTarget<T>> {
  const { batch, concurrency, maxDeadLetters, onDead, breakLock, trustFilesystem } = options;
  if (options.state === '') throw new UsageError('--state is empty: give the name of a folder.');
  if (options.deadLetters === '') throw new UsageError('--dead-letters is empty: give the name of a file.');
  const places = forwardPlaces(url, options);
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
  return { sink, name: new URL(url).origin, format: 'json', state: places.state, forwarding: { ...places, tally } };
}
