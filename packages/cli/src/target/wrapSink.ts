import type { Json, Sink, SinkContext, SinkWriter } from '@sluice/core';

/** What a sink's positions pass through. */
interface Wrapping {
  /** From the sink's position to the one that is stored, and back. */
  readonly wrap: (sinkPosition: Json) => Json;
  readonly unwrap: (stored: Json) => Json;
}

/** A sink whose positions pass through functions. It may be of a class with private fields, so each call is made on it. */
export function wrapSink<T>(sink: Sink<T>, wrapping: Wrapping): Sink<T> {
  const { name, identity, target, delivery, state, isRefreshed } = sink;
  const { wrap, unwrap } = wrapping;
  const check = sink.check?.bind(sink);
  const finished = sink.finished?.bind(sink);
  const withoutPartition = sink.withoutPartition?.bind(sink);
  const unwrapContext = (context: SinkContext<T>): SinkContext<T> => {
    const { resumeAt } = context;
    return resumeAt ? { ...context, resumeAt: { ...resumeAt, sinkPosition: unwrap(resumeAt.sinkPosition) } } : context;
  };
  return {
    name,
    identity,
    delivery,
    target,
    state,
    isRefreshed,
    check: check && ((context) => check(unwrapContext(context))),
    finished: finished && ((stored) => finished(unwrap(stored))),
    withoutPartition: withoutPartition && ((stored, partition) => wrap(withoutPartition(unwrap(stored), partition))),
    open: async (context) => wrapWriter(await sink.open(unwrapContext(context)), wrapping),
  };
}

function wrapWriter<T>(writer: SinkWriter<T>, { wrap }: Wrapping): SinkWriter<T> {
  return {
    start: writer.start === undefined ? undefined : wrap(writer.start),
    get isFull() {
      return writer.isFull;
    },
    get isCommittable() {
      return writer.isCommittable;
    },
    write: (page) => writer.write(page),
    flush: async () => wrap(await writer.flush()),
    seal: async (end) => wrap(await writer.seal(end)),
    suspend: writer.suspend?.bind(writer),
    close: () => writer.close(),
    abort: (reason, options) => writer.abort(reason, options),
  };
}
