import { metrics, trace } from '@opentelemetry/api';
import type { Clock } from '@sluice/core';

/** A collector that does not answer must not hold a command up. Ms. */
const longestFlush = 5_000;

/**
 * Lets the registered providers export what they have. A command and a script may exit right afterwards, and most
 * providers export once a minute. Never rejects: the provider itself reports what it could not export.
 */
export async function flushProviders(clock: Pick<Clock, 'after'>): Promise<void> {
  const providers = [delegateOf(trace.getTracerProvider()), metrics.getMeterProvider()];
  let cancelTimer = (): void => undefined;
  const tooLate = new Promise<void>((resolve) => {
    cancelTimer = clock.after(longestFlush, resolve);
  });
  await Promise.race([Promise.allSettled(providers.map(forceFlush)), tooLate]);
  cancelTimer();
}

/** The interface of a provider has no flush: only that of an SDK does. */
async function forceFlush(provider: object): Promise<void> {
  if (canFlush(provider)) await provider.forceFlush();
}

function canFlush(provider: object): provider is { forceFlush(): Promise<void> } {
  return 'forceFlush' in provider && typeof provider.forceFlush === 'function';
}

/** The provider behind the proxy, which may be of another copy of the API. */
function delegateOf(provider: object): object {
  const delegate = isProxy(provider) ? provider.getDelegate() : provider;
  return typeof delegate === 'object' && delegate !== null ? delegate : provider;
}

function isProxy(provider: object): provider is { getDelegate(): unknown } {
  return 'getDelegate' in provider && typeof provider.getDelegate === 'function';
}
