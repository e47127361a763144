import {
  type Client,
  type Json,
  PluginError,
  type Sink,
  type SinkContext,
  type SinkWriter,
  SluiceError,
  type StateLog,
  type StateStore,
} from '@sluice/core';
import type { Environment } from '../environment/environment.js';
import { Failure } from '../errors/errors.js';
import { hidePassword, type NamedTarget, stateFolder } from './namedTarget.js';
import type { Target } from './target.js';

/** A target in a plugin's sink. */
export function sinkTarget<T extends object>(
  named: NamedTarget,
  environment: Pick<Environment, 'folder' | 'signal' | 'secrets'>,
): Target<T> {
  hidePassword(named, environment.secrets);
  return {
    kind: 'sink',
    name: named.shown,
    format: named.name,
    open: (client) => namedSink(client, named, environment),
    state: stateFolder(named),
  };
}

/**
 * The sink that a plugin creates for a target. The plan contains the target, so that no state is resumed with another
 * one. So does each sink position, so that `checkpoint show` can explain it.
 *
 * @throws what the plugin raises.
 */
async function namedSink(
  { sinks }: Pick<Client, 'sinks'>,
  { name, target, shown }: NamedTarget,
  { folder, signal }: Pick<Environment, 'folder' | 'signal'>,
): Promise<Sink<object>> {
  const make = sinks.get(name);
  if (!make) throw new Failure(`No plugin provides a sink "${name}".`);
  const sink = await make(target, { folder });
  const wrap: Wrap = (sinkPosition) => ({ to: shown, sinkPosition: sinkPosition ?? null });
  return {
    name: sink.name,
    identity: { to: shown, of: sink.identity },
    ...(sink.target !== undefined && { target: sink.target }),
    delivery: sink.delivery,
    ...(sink.check && { check: async (context) => sink.check?.(unwrapContext(context)) }),
    ...(sink.withoutPartition && {
      withoutPartition: (sinkPosition, partition) => wrap(sink.withoutPartition?.(unwrap(sinkPosition), partition)),
    }),
    ...(sink.finished && { finished: async (sinkPosition) => sink.finished?.(unwrap(sinkPosition)) }),
    ...(sink.isRefreshed && { isRefreshed: true }),
    ...(sink.state && { state: guardedStore(sink.state, `The state of the sink "${name}"`, signal) }),
    open: async (context) => wrapped(await sink.open(unwrapContext(context)), wrap),
  };
}

/** Adds the target to a sink position of the plugin. */
type Wrap = (sinkPosition: Json | undefined) => Json;

function unwrapContext({ resumeAt, ...context }: SinkContext<object>): SinkContext<object> {
  return { ...context, ...(resumeAt && { resumeAt: { ...resumeAt, sinkPosition: unwrap(resumeAt.sinkPosition) } }) };
}

/** The writer, whose positions have the target. Its class may have private fields, so each call is made on it. */
function wrapped(writer: SinkWriter<object>, wrap: Wrap): SinkWriter<object> {
  return {
    ...(writer.start !== undefined && { start: wrap(writer.start) }),
    get isCommittable() {
      return writer.isCommittable ?? true;
    },
    get isFull() {
      return writer.isFull ?? false;
    },
    write: (page) => writer.write(page),
    flush: async () => wrap(await writer.flush()),
    seal: async (end) => wrap(await writer.seal(end)),
    ...(writer.suspend && { suspend: async () => writer.suspend?.() ?? writer.close() }),
    close: () => writer.close(),
    abort: (reason, options) => writer.abort(reason, options),
  };
}

/** The sink position as the plugin returned it. */
function unwrap(sinkPosition: Json): Json {
  return isNamed(sinkPosition) ? sinkPosition.sinkPosition : sinkPosition;
}

/** The target in the sink position of a plugin's sink; `undefined` for any other sink position. */
export function namedIn(sinkPosition: Json | undefined): string | undefined {
  return sinkPosition !== undefined && isNamed(sinkPosition) && typeof sinkPosition.to === 'string'
    ? sinkPosition.to
    : undefined;
}

function isNamed(sinkPosition: Json): sinkPosition is { readonly to: Json; readonly sinkPosition: Json } {
  return (
    typeof sinkPosition === 'object' && sinkPosition !== null && 'to' in sinkPosition && 'sinkPosition' in sinkPosition
  );
}

/** The state store that a plugin creates for a target. @throws what the plugin raises. */
export async function namedStore(
  { stores }: Pick<Client, 'stores'>,
  { name, target }: NamedTarget,
  { folder, signal }: Pick<Environment, 'folder' | 'signal'>,
): Promise<StateStore> {
  const make = stores.get(name);
  if (!make) throw new Failure(`No plugin provides a store "${name}".`);
  const store = await make(target, { folder });
  return guardedStore(store, `The store "${name}"`, signal);
}

/**
 * A plugin's store whose errors say where they come from: a watch calls it directly. Errors of Sluice pass unchanged,
 * and so does every error after the signal has aborted, since the signal is then the reason.
 */
function guardedStore(store: StateStore, what: string, signal: AbortSignal): StateStore {
  const guard = async <R>(call: () => R | Promise<R>): Promise<R> => {
    try {
      return await call();
    } catch (cause) {
      if (SluiceError.is(cause) || signal.aborted) throw cause;
      throw new PluginError(`${what} failed.`, { cause });
    }
  };
  const guarded = (log: StateLog): StateLog => ({
    get bytes() {
      return log.bytes;
    },
    async *read() {
      const records = log.read()[Symbol.asyncIterator]();
      for (let next = await guard(() => records.next()); next.done !== true; next = await guard(() => records.next()))
        yield next.value;
    },
    append: (record) => guard(() => log.append(record)),
    replace: (records) => guard(() => log.replace(records)),
    remove: () => guard(() => log.remove()),
    close: () => guard(() => log.close()),
  });
  return {
    ...(store.folder !== undefined && { folder: store.folder }),
    lock: (until, use) => guard(() => store.lock(until, use)),
    load: (record) => guard(() => store.load(record)),
    save: (record, value) => guard(() => store.save(record, value)),
    remove: (record) => guard(() => store.remove(record)),
    log: (record) => guarded(store.log(record)),
  };
}
