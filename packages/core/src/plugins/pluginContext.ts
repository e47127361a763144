import type { Clock } from '../clock.js';
import { reportOf, textOf } from '../errorReport.js';
import { ConfigError } from '../errors.js';
import type { KeyRing } from '../http/apiKey.js';
import { checkBaseUrl } from '../http/origin.js';
import type { ArrayFormat } from '../http/query.js';
import type { Secrets } from '../http/secrets.js';
import type { Transport } from '../http/transport.js';
import type { StateStore } from '../sink/stateStore.js';
import type { SourceEvent } from '../source/sourceEvent.js';
import { isCount, isRecord } from '../values.js';
import type { EventHub } from './eventHub.js';
import type { ApiResponse, ApiRequest, Endpoint, PluginContext, PluginLogger } from './plugin.js';

const noEvent = 'It told of something that is no event of a source: it was dropped.';

/** What the plugins of a client share, and mostly don't get to see. */
export interface ContextParts {
  readonly clock: Clock;
  readonly random: () => number;
  readonly hub: EventHub;
  readonly keys: KeyRing;
  readonly secrets: Secrets;
  /** Where the key may go: each endpoint adds its own. */
  readonly origins: Set<string>;
  readonly transport: Transport;
  readonly allowInsecure: boolean;
  readonly state: (plugin: string) => StateStore;
}

/** What one plugin is handed. Nothing of it leads to the key. */
export function pluginContext(plugin: string, parts: ContextParts): PluginContext {
  const { clock, random, hub } = parts;
  // A plugin that no compiler has seen may say anything.
  const logger: PluginLogger = Object.freeze({
    info: (message: unknown) => hub.emit(() => ({ type: 'info', message: textOf(message), plugin })),
    warn: (message: unknown) => hub.emit(() => ({ type: 'warning', message: textOf(message), plugin })),
  });
  let state: StateStore | undefined;
  return Object.freeze({
    ...{ clock, random, logger },
    endpoint: (baseUrl: string, { arrays = 'brackets' }: { readonly arrays?: ArrayFormat } = {}) =>
      endpoint(baseUrl, { arrays, plugin }, parts, logger),
    // Made when it is asked for: most plugins keep nothing.
    get state() {
      return (state ??= parts.state(plugin));
    },
  });
}

function endpoint(
  baseUrl: string,
  { arrays, plugin }: { readonly arrays: ArrayFormat; readonly plugin: string },
  parts: ContextParts,
  logger: PluginLogger,
): Endpoint {
  const { secrets, keys, origins, transport, allowInsecure, hub } = parts;
  if (secrets.has(baseUrl))
    throw new ConfigError('The base address holds the API key. Leave it out: the key travels in its own header.');
  const checked = checkBaseUrl(baseUrl, { plugin, allowInsecure });
  origins.add(new URL(checked).origin);
  const send = async (request: ApiRequest): Promise<ApiResponse> => {
    try {
      const { status, headers, body } = await transport({ arrays, ...request, baseUrl: checked });
      return { status, headers, body };
    } catch (error) {
      const isStop = request.signal?.aborted && error === request.signal.reason;
      if (!isStop) hub.emit(() => ({ type: 'error', of: 'request', name: request.route, error: reportOf(error) }));
      throw error;
    }
  };
  return Object.freeze({
    baseUrl: checked,
    send,
    request: async (request) => (await send(request)).body,
    isSecret: (text) => secrets.has(text),
    keyFingerprint: (salt) => keys.fingerprint(salt),
    observe: (event) => hub.emit(() => sourceEventOf(event) ?? { type: 'warning', message: noEvent, plugin }),
    warn: (message) => logger.warn(message),
  } satisfies Endpoint);
}

type Fields = Readonly<Record<string, unknown>>;

/** What a plugin told of a source, made anew of the fields that such an event has; `undefined` if it is none. A plugin may tell anything. */
function sourceEventOf(told: unknown): SourceEvent | undefined {
  try {
    return isRecord(told) ? eventOf({ ...told }) : undefined;
  } catch {
    return undefined;
  }
}

function eventOf(fields: Fields): SourceEvent | undefined {
  switch (fields['type']) {
    case 'page':
      return pageOf(fields);
    case 'commit':
      return commitOf(fields);
    case 'error':
      return errorOf(fields);
    default:
      return undefined;
  }
}

function pageOf({ source, partition, page, rows, total }: Fields): SourceEvent | undefined {
  if (typeof source !== 'string' || !isCount(partition) || !isCount(page) || !isCount(rows)) return undefined;
  return { type: 'page', source, partition, page, rows, ...(isCount(total) && { total }) };
}

function commitOf({ source, sink, rows, pages, isSealed }: Fields): SourceEvent | undefined {
  if (typeof source !== 'string' || typeof sink !== 'string' || typeof isSealed !== 'boolean') return undefined;
  if (!isCount(rows) || !isCount(pages)) return undefined;
  return { type: 'commit', source, sink, rows, pages, isSealed };
}

function errorOf({ of, name, error }: Fields): SourceEvent | undefined {
  if (typeof name !== 'string' || (of !== 'walk' && of !== 'watch' && of !== 'export')) return undefined;
  return { type: 'error', of, name, error: reportOf(error) };
}
