import { type Client, type Json, type Sink, type StateStore, systemClock } from '@sluice/core';
import { guardStore, type SinkContext, type SinkWriter } from '@sluice/core/kit';
import type { Environment } from '../environment/environment.js';
import { Failure } from '../errors/errors.js';
import { hidePassword, type NamedTarget, stateFolder } from './namedTarget.js';
import type { Target } from './target.js';

/** A target in a plugin's sink. */
export function sinkTarget<T extends object>(named: NamedTarget, environment: Environment): Target<T> {
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
 */
async function namedSink(
  { sinks }: Pick<Client, 'sinks'>,
  { name, target, shown }: NamedTarget,
  { folder, signal }: Environment,
): Promise<Sink<object>> {
  const make = sinks.get(name);
  if (!make) throw new Failure(`No plugin provides a sink "${name}".`);
  const sink = await make(target, { folder });
  const { delivery, isRefreshed, addsColumns } = sink;
  // A plugin in JavaScript may return no position, and JSON would leave the field out.
  const wrap = (sinkPosition: Json | undefined): Json => ({ to: shown, sinkPosition: sinkPosition ?? null });
  // The sink may be of a class with private fields, so each call is made on it.
  const check = sink.check?.bind(sink);
  const finished = sink.finished?.bind(sink);
  const withoutPartition = sink.withoutPartition?.bind(sink);
  return {
    name: sink.name,
    identity: { to: shown, of: sink.identity },
    delivery,
    target: sink.target,
    state: sink.state && guardStore(sink.state, `The state of the sink "${name}"`, { clock: systemClock, signal }),
    isRefreshed,
    addsColumns,
    check: check && ((context) => check(unwrapContext(context))),
    finished: finished && ((stored) => finished(unwrap(stored))),
    withoutPartition: withoutPartition && ((stored, partition) => wrap(withoutPartition(unwrap(stored), partition))),
    open: async (context) => wrapWriter(await sink.open(unwrapContext(context)), wrap),
  };
}

function wrapWriter<T>(writer: SinkWriter<T>, wrap: (sinkPosition: Json) => Json): SinkWriter<T> {
  return {
    start: writer.start === undefined ? undefined : wrap(writer.start),
    get isFull() {
      return writer.isFull;
    },
    get isCommittable() {
      return writer.isCommittable;
    },
    failed: writer.failed,
    write: (page) => writer.write(page),
    flush: async () => wrap(await writer.flush()),
    seal: async (end) => wrap(await writer.seal(end)),
    suspend: writer.suspend?.bind(writer),
    close: () => writer.close(),
    abort: (reason, options) => writer.abort(reason, options),
  };
}

function unwrapContext<T>(context: SinkContext<T>): SinkContext<T> {
  const { resumeAt } = context;
  return resumeAt ? { ...context, resumeAt: { ...resumeAt, sinkPosition: unwrap(resumeAt.sinkPosition) } } : context;
}

/** The sink position as the plugin returned it. */
function unwrap(sinkPosition: Json): Json {
  return isNamed(sinkPosition) ? sinkPosition.sinkPosition : sinkPosition;
}

/** The target in the sink position of a plugin's sink; `undefined` for any other sink position. */
export function namedIn(sinkPosition: Json | undefined): string | undefined {
  return isNamed(sinkPosition) && typeof sinkPosition.to === 'string' ? sinkPosition.to : undefined;
}

function isNamed(sinkPosition: Json | undefined): sinkPosition is { readonly to: Json; readonly sinkPosition: Json } {
  return (
    typeof sinkPosition === 'object' && sinkPosition !== null && 'to' in sinkPosition && 'sinkPosition' in sinkPosition
  );
}

/** The state store that a plugin creates for a target. @throws what the plugin raises. */
export async function namedStore(
  { stores }: Pick<Client, 'stores'>,
  { name, target }: NamedTarget,
  { folder, signal }: Environment,
): Promise<StateStore> {
  const make = stores.get(name);
  if (!make) throw new Failure(`No plugin provides a store "${name}".`);
  const store = await make(target, { folder });
  return guardStore(store, `The store "${name}"`, { clock: systemClock, signal });
}
