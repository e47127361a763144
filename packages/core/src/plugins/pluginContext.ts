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

const noEvent = 'It emitted something that is not an event of a source: it was dropped.';

/** What the plugins of a client share. Most of it is hidden from them. */
export interface ContextParts {
  readonly clock: Clock;
  readonly random: () => number;
  readonly hub: EventHub;
  readonly keys: KeyRing;
  readonly secrets: Secrets;
  /** Where the key may be sent: each endpoint adds its own origin. */
  readonly origins: Set<string>;
  readonly transport: Transport;
  readonly allowInsecure: boolean;
  readonly state: (plugin: string) => StateStore;
}

/** The context of one plugin, from which the key can't be reached. */
export function pluginContext(plugin: string, parts: ContextParts): PluginContext {
  const { clock, random, hub } = parts;
  // A plugin in JavaScript may pass anything.
  const logger: PluginLogger = Object.freeze({
    info: (message: unknown) => hub.emit(() => ({ type: 'info', message: textOf(message), plugin })),
    warn: (message: unknown) => hub.emit(() => ({ type: 'warning', message: textOf(message), plugin })),
  });
  let state: StateStore | undefined;
  return Object.freeze({
    ...{ clock, random, logger },
    endpoint: (baseUrl: string, { arrays = 'brackets' }: { readonly arrays?: ArrayFormat } = {}) =>
      endpoint(baseUrl, { arrays, plugin }, parts, logger),
    // Made on first use: most plugins store nothing.
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
    throw new ConfigError('The base URL contains the API key. Leave it out: the key travels in its own header.');
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
    observe: (event) => hub.emit(() => decodeSourceEvent(event) ?? { type: 'warning', message: noEvent, plugin }),
    warn: (message) => logger.warn(message),
  } satisfies Endpoint);
}

type Fields = Readonly<Record<string, unknown>>;

/** Copies the fields of a source's event; `undefined` if it is not one. A plugin may pass anything. */
function decodeSourceEvent(value: unknown): SourceEvent | undefined {
  try {
    if (!isRecord(value)) return undefined;
    const { type, ...fields } = value;
    if (type === 'page') return pageOf(fields);
    if (type === 'commit') return commitOf(fields);
    return type === 'error' ? errorOf(fields) : undefined;
  } catch {
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
