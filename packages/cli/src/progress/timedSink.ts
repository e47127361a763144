import type { Sink, SinkWriter } from '@sluice/core';
import type { TargetWait } from './waits.js';

/** The sink, with its calls followed. `abort` is not: nothing is shown by then. */
export function timedSink<T>(sink: Sink<T>, wait: TargetWait): Sink<T> {
  const { name, identity, target, delivery, state } = sink;
  return {
    name,
    identity,
    delivery,
    ...(target !== undefined && { target }),
    ...(state && { state }),
    ...(sink.check && { check: async (context) => sink.check?.(context) }),
    ...(sink.withoutPartition && {
      withoutPartition: (position, partition) => sink.withoutPartition?.(position, partition) ?? null,
    }),
    ...(sink.isRefreshed && { isRefreshed: true }),
    ...(sink.finished && { finished: async (position) => sink.finished?.(position) }),
    open: async (context) => timedWriter(await sink.open(context), wait),
  };
}

function timedWriter<T>(writer: SinkWriter<T>, { during }: TargetWait): SinkWriter<T> {
  const { start } = writer;
  return {
    ...(start !== undefined && { start }),
    get isFull() {
      return writer.isFull ?? false;
    },
    get isCommittable() {
      return writer.isCommittable ?? true;
    },
    write: (page) => during(() => writer.write(page)),
    flush: () => during(() => writer.flush()),
    seal: (end) => during(() => writer.seal(end)),
    ...(writer.suspend && { suspend: () => during(async () => writer.suspend?.() ?? writer.close()) }),
    close: () => during(() => writer.close()),
    abort: (reason, options) => writer.abort(reason, options),
  };
}
