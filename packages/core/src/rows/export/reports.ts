import type { Clock } from '../../clock.js';
import type { Outage } from '../../outage.js';
import type { SourceInfo } from '../source/sourceInfo.js';
import { notify } from '../source/sourceEvent.js';
import type { StateStore } from '../sink/stateStore.js';

type Reported = Pick<SourceInfo<never>, 'name' | 'endpoint'>;

/**
 * Tells the observers of a client when a sink is called, and when it has returned. Nothing, if there are none.
 *
 * @param prefix of the names of calls
 */
export function reportCalls(
  { name: source, endpoint }: Reported,
  sink: string,
  clock: Clock,
  prefix = '',
): (method: string) => () => void {
  return (method) => {
    if (!(endpoint?.isObserved?.('sink') ?? true)) return () => undefined;
    const began = clock.monotonic();
    const call = prefix + method;
    notify(endpoint, { type: 'sink', source, sink, call });
    return () => notify(endpoint, { type: 'sink', source, sink, call, took: clock.monotonic() - began });
  };
}

/** Tells the observers of a client when the target of a sink is away, and when it is there again. */
export function reportOutages({ name: source, endpoint }: Reported, sink: string) {
  return (outage: Outage | undefined): void => notify(endpoint, { type: 'outage', source, sink, ...outage });
}

/** The state of a watch, whose calls and outages are reported: nothing else says what a poll waits for then. */
export function reportState(store: StateStore, info: Reported, clock: Clock): StateStore {
  const onCall = reportCalls(info, 'state', clock, 'state.');
  const report = <R>(method: string, call: () => Promise<R>): Promise<R> => {
    const ended = onCall(method);
    return (async () => call())().finally(ended);
  };
  return {
    folder: store.folder,
    lock: (signal, use) => report('lock', () => store.lock(signal, use, reportOutages(info, 'state'))),
    load: (name) => report('load', () => store.load(name)),
    save: (name, record) => report('save', () => store.save(name, record)),
    remove: (name) => report('remove', () => store.remove(name)),
    log(name) {
      const log = store.log(name);
      return {
        get bytes() {
          return log.bytes;
        },
        read: () => log.read(),
        append: (record) => report('append', () => log.append(record)),
        replace: (records) => report('replace', () => log.replace(records)),
        ...(log.checkReplaceable && {
          checkReplaceable: () => report('checkReplaceable', async () => log.checkReplaceable?.()),
        }),
        remove: () => report('remove', () => log.remove()),
        close: () => log.close(),
      };
    },
  };
}
