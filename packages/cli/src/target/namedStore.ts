import type { Client, StateLog, StateStore } from '@sluice/core';
import type { Environment } from '../environment.js';
import { Failure } from '../faults/failure.js';
import { guardOf } from './guard.js';
import type { NamedTarget } from './namedTarget.js';

/** The state store that a plugin makes of a target. @throws what the plugin raises. */
export async function namedStore(
  { stores }: Pick<Client, 'stores'>,
  { name, target }: NamedTarget,
  { folder, signal }: Pick<Environment, 'folder' | 'signal'>,
): Promise<StateStore> {
  const make = stores.get(name);
  if (!make) throw new Failure(`No plugin has brought along a store "${name}".`);
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
