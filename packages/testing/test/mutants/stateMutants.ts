import { memoryState, type StateStore } from '@sluice/core';
import type { StateLog } from '@sluice/core/kit';
import type { StateStoreFixture } from '../../src/index.js';
import type { Mutants } from './mutant.js';

/** A state that outlives its process, changed in one place. */
function mutant(caughtBy: string, spoil: (store: StateStore) => Partial<StateStore>) {
  const factory = (): StateStoreFixture => {
    const healthy = memoryState();
    const store = { ...healthy, ...spoil(healthy) };
    return { store, another: () => store };
  };
  return { caughtBy, factory };
}

/** The same where its logs are the ones that are changed. */
function logMutant(caughtBy: string, spoil: (log: StateLog) => Partial<StateLog>) {
  return mutant(caughtBy, (store) => ({ log: (name) => changed(store.log(name), spoil) }));
}

/** Its size is asked for each time. */
function changed(log: StateLog, spoil: (log: StateLog) => Partial<StateLog>): StateLog {
  const parts = spoil(log);
  return {
    read: parts.read ?? (() => log.read()),
    append: parts.append ?? ((record) => log.append(record)),
    replace: parts.replace ?? ((records) => log.replace(records)),
    remove: parts.remove ?? (() => log.remove()),
    close: parts.close ?? (() => log.close()),
    get bytes() {
      return parts.bytes ?? log.bytes;
    },
  };
}

const free = async (): Promise<void> => undefined;

export const stateMutants: Mutants<StateStoreFixture> = {
  'finds something under any name': mutant('has no record under an unused name', (store) => ({
    load: async (name) => (await store.load(name)) ?? {},
  })),

  'keeps its records in an object with a past': mutant('has no record under an unused name', () => {
    const records: Record<string, unknown> = {};
    return {
      save: async (name, record) => void (records[name] = record),
      load: async (name) => records[name],
    };
  }),

  'can not write all letters': mutant('returns records as they were saved', (store) => ({
    save: (name, record) => store.save(name, JSON.parse(JSON.stringify(record).replace(/[\u0080-\uffff]/g, '?'))),
  })),

  'adds to a record instead of replacing it': mutant(
    'replaces a record completely, and leaves others alone',
    (store) => ({
      save: async (name, record) =>
        store.save(name, { ...((await store.load(name)) as object | undefined), ...record }),
    }),
  ),

  'has one record for all names': mutant('replaces a record completely, and leaves others alone', (store) => ({
    save: (_name, record) => store.save('record', record),
    load: () => store.load('record'),
  })),

  'empties a record instead of removing it': mutant('removes a record, and leaves others alone', (store) => ({
    remove: (name) => store.save(name, {}),
  })),

  'keeps a reference': mutant('keeps a record even if the object is changed later', () => {
    const records = new Map<string, object>();
    return {
      save: async (name, record) => void records.set(name, record),
      load: async (name) => records.get(name),
    };
  }),

  'gives out what it keeps': mutant('keeps a record even if the object is changed later', () => {
    const records = new Map<string, object>();
    return {
      save: async (name, record) => void records.set(name, structuredClone(record)),
      load: async (name) => records.get(name),
    };
  }),

  'keeps more than JSON does': mutant('stores a record as JSON', () => {
    const records = new Map<string, object>();
    return {
      save: async (name, record) => void records.set(name, structuredClone(record)),
      load: async (name) => structuredClone(records.get(name)),
    };
  }),

  'tears a record when it replaces it': mutant('keeps the previous record if a new one cannot be saved', (store) => ({
    save: async (name, record) => {
      await store.remove(name);
      await store.save(name, record);
    },
  })),

  'keeps what it can not save to itself': mutant('keeps the previous record if a new one cannot be saved', (store) => ({
    save: async (name, record) => {
      try {
        await store.save(name, record);
      } catch {
        // Nobody is told.
      }
    },
  })),

  'says that a record is durable before it is': (() => {
    const factory = (): StateStoreFixture => {
      const disk = memoryState();
      const opened = (): StateStore => {
        const cache = new Map<string, unknown>();
        return {
          ...disk,
          save: async (name, record) => {
            const before = cache.get(name);
            cache.set(name, structuredClone(record));
            // What came before reaches the disk now.
            if (before) await disk.save(name, before);
          },
          load: async (name) => (cache.has(name) ? cache.get(name) : disk.load(name)),
        };
      };
      return { store: opened(), another: opened };
    };
    return { caughtBy: 'still has its records in the next process', factory };
  })(),

  'has something in a new log': logMutant('has an empty log until something is appended', (log) => ({
    read: async function* () {
      yield* log.bytes > 0 ? [] : [{ v: 1 }];
      yield* log.read();
    },
  })),

  'reads the newest record first': logMutant('reads a log in the order in which it was written', (log) => ({
    read: async function* () {
      const records: unknown[] = [];
      for await (const record of log.read()) records.unshift(record);
      yield* records;
    },
  })),

  'keeps its log by lines, and does not mind lines in records': logMutant(
    'reads a log in the order in which it was written',
    (log) => ({
      append: async (record) => {
        for (const text of JSON.stringify(record).replaceAll('\\n', '\n').split('\n')) await log.append({ text });
      },
    }),
  ),

  'begins a log anew when it is opened': mutant('appends to a log that was read', (store) => ({
    log: (name) => {
      let isFirst = true;
      return changed(store.log(name), (log) => ({
        append: (record) => {
          if (!isFirst) return log.append(record);
          isFirst = false;
          return log.replace([record]);
        },
      }));
    },
  })),

  'adds to a log instead of replacing it': logMutant(
    'replaces all records of a log, and appends after them',
    (log) => ({
      replace: async (records) => {
        for (const record of records) await log.append(record);
      },
    }),
  ),

  'tears a log when it replaces it': logMutant('keeps all records of a log that cannot be replaced', (log) => ({
    replace: async (records) => {
      await log.replace([]);
      for (const record of records) await log.append(record);
    },
  })),

  'keeps a reference to what is logged': mutant(
    'keeps a logged record even if the object is changed later',
    (store) => ({
      log: (name) => {
        const records: object[] = [];
        return changed(store.log(name), () => ({
          append: async (record) => void records.push(record),
          read: async function* () {
            yield* records;
          },
        }));
      },
    }),
  ),

  'removes nothing from a log': logMutant('removes a log, which can start over', () => ({ remove: free })),

  'has one log for all names': mutant('separates logs and records', (store) => ({ log: () => store.log('log') })),

  'removes a record with the log of its name': mutant('separates logs and records', (store) => ({
    log: (name) =>
      changed(store.log(name), (log) => ({
        remove: async () => {
          await log.remove();
          await store.remove(name);
        },
      })),
  })),

  'counts records instead of bytes': mutant('reports how many bytes a log takes', (store) => ({
    log: (name) => {
      let count = 0;
      const log = store.log(name);
      return {
        ...changed(log, () => ({})),
        append: (record) => {
          count += 1;
          return log.append(record);
        },
        get bytes() {
          return count;
        },
      };
    },
  })),

  'keeps its logs as long as its process lives': (() => {
    const factory = (): StateStoreFixture => {
      const disk = memoryState();
      const opened = (): StateStore => ({ ...disk, log: memoryState().log });
      return { store: opened(), another: opened };
    };
    return { caughtBy: 'still has its logs in the next process', factory };
  })(),

  'locks nobody out': mutant('grants one export lock at a time, in the order of the calls', () => ({
    lock: async () => free,
  })),

  'lets the last one in first': mutant('grants one export lock at a time, in the order of the calls', (store) => {
    const waiting: (() => void)[] = [];
    let isTaken = false;
    return {
      lock: async (signal, use) => {
        if (use === 'watch') return store.lock(signal, use);
        if (isTaken) await new Promise<void>((resolve) => waiting.push(resolve));
        isTaken = true;
        return async () => {
          isTaken = false;
          // Nobody waits any more where one of them has left.
          waiting.pop()?.();
        };
      },
    };
  }),

  'has one lock for exports and watches': mutant('grants locks to an export and a watch at the same time', (store) => ({
    lock: (signal) => store.lock(signal, 'export'),
  })),

  'lets a watch wait for another one': mutant(
    'refuses a second watch with a LockError, unless the first one is closing',
    (store) => {
      const watches = memoryState();
      return { lock: (signal, use) => (use === 'watch' ? watches.lock(signal, 'export') : store.lock(signal, use)) };
    },
  ),

  'does not hear that nobody waits any more': mutant(
    'stops waiting at once when aborted, and forgets the waiting export',
    (store) => ({
      lock: (_signal, use) => store.lock(new AbortController().signal, use),
    }),
  ),

  'lets in whoever is behind one that gave up': mutant(
    'stops waiting at once when aborted, and forgets the waiting export',
    (store) => {
      let hasGivenUp = false;
      const waiting: { readonly signal: AbortSignal; readonly letIn: (release: typeof free) => void }[] = [];
      const letIn = (): void => {
        for (const each of waiting) if (hasGivenUp && !each.signal.aborted) each.letIn(free);
      };
      return {
        lock: (signal, use) => {
          signal.addEventListener('abort', () => {
            hasGivenUp = true;
            letIn();
          });
          const lock = store.lock(signal, use);
          const gaveUp = new Promise<typeof free>((resolve) => {
            waiting.push({ signal, letIn: resolve });
            letIn();
          });
          return Promise.race([lock, gaveUp]);
        },
      };
    },
  ),

  'has words of its own for an abort': mutant('grants no lock if the signal is aborted already', (store) => ({
    lock: (signal, use) =>
      store.lock(signal, use).catch((error: unknown) => {
        throw signal.aborted ? new Error('Aborted.') : error;
      }),
  })),

  'locks only itself': (() => {
    const factory = (): StateStoreFixture => {
      const disk = memoryState();
      const opened = (): StateStore => ({ ...disk, lock: memoryState().lock });
      return { store: opened(), another: opened };
    };
    return { caughtBy: 'grants no lock to another store while it is locked', factory };
  })(),
};
