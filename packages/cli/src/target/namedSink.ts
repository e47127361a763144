import {
  type Client,
  type Json,
  type Sink,
  type SinkContext,
  SinkError,
  type SinkWriter,
  SluiceError,
  type StateLog,
  type StateStore,
} from '@sluice/core';
import type { Environment } from '../environment/environment.js';
import { Failure } from '../errors/errors.js';
import { thrownText } from '../errors/thrown.js';
import { hidePassword, type NamedTarget, stateFolder } from './namedTarget.js';
import type { Target } from './target.js';

/** What a plugin's sink is made of, as a target. */
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
 * The sink that a plugin makes of a target. The target is part of the plan, so that no state goes on in another one, and each place says
 * it, so that a checkpoint can be explained.
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
  const guard = guardOf(`The sink "${name}"`, signal, (message, options) => new SinkError(message, options));
  const at = (sinkPosition: Json | undefined): Json => placeIn(shown, sinkPosition);
  return {
    name: sink.name,
    identity: { to: shown, of: sink.identity },
    ...(sink.target !== undefined && { target: sink.target }),
    delivery: sink.delivery,
    ...(sink.check && { check: (context) => guard(() => sink.check?.(unplaced(context))) }),
    ...(sink.withoutPartition && {
      withoutPartition: (sinkPosition, partition) => at(sink.withoutPartition?.(placeOf(sinkPosition), partition)),
    }),
    open: async (context) => guarded(await guard(() => sink.open(unplaced(context))), guard, at),
  };
}

/** What a sink of a plugin's is told: its own place, as it has answered it. */
function unplaced({ resumeAt, ...context }: SinkContext<object>): SinkContext<object> {
  return { ...context, ...(resumeAt && { resumeAt: { ...resumeAt, sinkPosition: placeOf(resumeAt.sinkPosition) } }) };
}

function guarded(
  writer: SinkWriter<object>,
  guard: Guard,
  at: (sinkPosition: Json | undefined) => Json,
): SinkWriter<object> {
  return {
    ...(writer.start !== undefined && { start: at(writer.start) }),
    get isCommittable() {
      return writer.isCommittable ?? true;
    },
    write: (page) => guard(() => writer.write(page)),
    flush: async () => at(await guard(() => writer.flush())),
    seal: async () => at(await guard(() => writer.seal())),
    ...(writer.suspend && { suspend: () => guard(async () => writer.suspend?.() ?? writer.close()) }),
    close: () => guard(() => writer.close()),
    abort: (reason, options) => guard(() => writer.abort(reason, options)),
  };
}

/** A place in a target that has a name. */
function placeIn(to: string, sinkPosition: Json | undefined): Json {
  return { to, sinkPosition: sinkPosition ?? null };
}

/** The place as its sink has answered it. */
function placeOf(sinkPosition: Json): Json {
  return isNamed(sinkPosition) ? sinkPosition.sinkPosition : sinkPosition;
}

/** The target that a place is in, if it is one with a name. */
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

/** Calls code of a plugin's. */
type Guard = <R>(call: () => R | Promise<R>) => Promise<R>;

/**
 * Calls code of a plugin's so that whatever it throws says whose fault it is. Errors of Sluice's are passed on, and all that it throws once
 * it was told to stop: that is the answer to the signal.
 *
 * @param what begins the sentence, e.g. `The sink "sqlite"`.
 * @param errorOf makes the error of the whole sentence and what was thrown.
 */
function guardOf(
  what: string,
  signal: AbortSignal,
  errorOf: (message: string, options: { readonly cause: unknown }) => Error,
): Guard {
  return async (call) => {
    try {
      return await call();
    } catch (cause) {
      if (SluiceError.is(cause) || signal.aborted) throw cause;
      throw errorOf(`${what} failed: ${thrownText(cause)}`, { cause });
    }
  };
}

/** The state store that a plugin makes of a target. @throws what the plugin raises. */
export async function namedStore(
  { stores }: Pick<Client, 'stores'>,
  { name, target }: NamedTarget,
  { folder, signal }: Pick<Environment, 'folder' | 'signal'>,
): Promise<StateStore> {
  const make = stores.get(name);
  if (!make) throw new Failure(`No plugin provides a store "${name}".`);
  const store = await make(target, { folder });
  const guard = guardOf(`The store "${name}"`, signal, (message, options) => new Failure(message, options));
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
