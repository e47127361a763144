import { SinkError, type Client, type Json, type Sink, type SinkContext, type SinkWriter } from '@sluice/core';
import type { Environment } from '../environment.js';
import { Failure } from '../faults/failure.js';
import { guardOf, type Guard } from './guard.js';
import type { NamedTarget } from './namedTarget.js';
import { placeIn, placeOf } from './namedPlace.js';

/**
 * The sink that a plugin makes of a target. The target is part of the plan, so that no state goes on in another one, and each place says
 * it, so that a checkpoint can be explained.
 *
 * @throws what the plugin raises.
 */
export async function namedSink(
  { sinks }: Pick<Client, 'sinks'>,
  { name, target, shown }: NamedTarget,
  { folder, signal }: Pick<Environment, 'folder' | 'signal'>,
): Promise<Sink<object>> {
  const make = sinks.get(name);
  if (!make) throw new Failure(`No plugin has brought along a sink "${name}".`);
  const sink = await make(target, { folder });
  const guard = guardOf(`The sink "${name}"`, signal, (message, options) => new SinkError(message, options));
  const at = (place: Json | undefined): Json => placeIn(shown, place);
  return {
    name: sink.name,
    identity: { to: shown, of: sink.identity },
    ...(sink.target !== undefined && { target: sink.target }),
    promises: sink.promises,
    ...(sink.check && { check: (context) => guard(() => sink.check?.(unplaced(context))) }),
    ...(sink.withoutPart && { withoutPart: (place, part) => at(sink.withoutPart?.(placeOf(place), part)) }),
    open: async (context) => guarded(await guard(() => sink.open(unplaced(context))), guard, at),
  };
}

/** What a sink of a plugin's is told: its own place, as it has answered it. */
function unplaced({ resumeAt, ...context }: SinkContext<object>): SinkContext<object> {
  return { ...context, ...(resumeAt && { resumeAt: { ...resumeAt, place: placeOf(resumeAt.place) } }) };
}

function guarded(writer: SinkWriter<object>, guard: Guard, at: (place: Json | undefined) => Json): SinkWriter<object> {
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
