import nodeCrypto from 'node:crypto';
import { syncBuiltinESMExports } from 'node:module';
import timersPromises from 'node:timers/promises';
import zlib from 'node:zlib';
import type { Random } from '../../test/kit/random.js';
import type { Schedule } from './schedule.js';

/** When every world begins, by the wall clock. */
export const epoch = Date.UTC(2030, 0, 1);

/** What code finds of the platform while a world is entered. */
interface Entered {
  readonly schedule: Schedule;
  readonly random: Random;
  /** By how many ms the wall clock is off, as somebody may have set it. */
  readonly wallOffset: () => number;
}

/** The platform as production code finds it: simulated within a world, and the real one outside. */
export interface Platform {
  readonly enter: (world: Entered) => void;
  readonly leave: () => void;
  /** Lets all promises run that can. */
  readonly turn: () => Promise<void>;
  /** A real turn of the event loop, which worlds do without. */
  readonly breathe: () => Promise<void>;
}

/**
 * Puts a simulation in the place of what is not given as an argument: timers (Bottleneck sets its own), `Date`, `performance`, random
 * numbers, and what runs on the thread pool: hashes and gzip. To be called once, before any code that keeps a function of these.
 */
export function simulatePlatform(): Platform {
  const { setTimeout, clearTimeout, setImmediate, clearImmediate, setInterval } = globalThis;
  const nextTick = process.nextTick.bind(process);
  const RealDate = Date;
  const realNow = performance.now.bind(performance);
  const realRandom = Math.random;
  const realUuid = nodeCrypto.randomUUID;
  const { gzip, gzipSync } = zlib;
  const { setTimeout: delay } = timersPromises;
  let world: Entered | undefined;

  const timer = (schedule: Schedule, label: string, ms: number, run: () => void, order?: number): SimulatedTimer =>
    new SimulatedTimer(schedule.after(ms, label, run, schedule.current, order));
  const cancel = (timer: unknown): boolean => {
    if (!(timer instanceof SimulatedTimer)) return false;
    timer.cancel();
    return true;
  };
  Object.assign(globalThis, {
    setTimeout: (run: (...args: unknown[]) => void, ms = 0, ...args: unknown[]) =>
      world
        ? timer(world.schedule, 'timer', ms, () => {
            run(...args);
          })
        : setTimeout(run, ms, ...args),
    // An immediate comes before all that is due at the same moment, and immediates in their own order.
    setImmediate: (run: (...args: unknown[]) => void, ...args: unknown[]) =>
      world
        ? timer(
            world.schedule,
            'immediate',
            0,
            () => {
              run(...args);
            },
            -1,
          )
        : setImmediate(run, ...args),
    setInterval: (run: () => void, ms?: number) => {
      if (world) throw new Error('setInterval is not simulated.');
      return setInterval(run, ms);
    },
    clearTimeout: (timer: NodeJS.Timeout) => {
      if (!cancel(timer)) clearTimeout(timer);
    },
    clearImmediate: (timer: NodeJS.Immediate) => {
      if (!cancel(timer)) clearImmediate(timer);
    },
  });
  // A tick comes before promises or after them, as its caller runs in one or not. In a world it is like a promise.
  process.nextTick = (run: (...args: unknown[]) => void, ...args: unknown[]) => {
    if (world)
      queueMicrotask(() => {
        run(...args);
      });
    else nextTick(run, ...args);
  };
  const wallNow = (): number => (world ? epoch + Math.floor(world.schedule.now + world.wallOffset()) : RealDate.now());
  globalThis.Date = new Proxy(RealDate, {
    construct: (target, args: unknown[]) =>
      args.length === 0 ? new target(wallNow()) : (Reflect.construct(target, args) as object),
    get: (target, name): unknown => (name === 'now' ? wallNow : Reflect.get(target, name)),
  });
  performance.now = () => (world ? world.schedule.now : realNow());
  Math.random = () => (world ? world.random.next() : realRandom());
  const randomUUID = (): ReturnType<typeof realUuid> => (world ? uuidOf(world.random) : realUuid());
  Object.defineProperty(globalThis.crypto, 'randomUUID', { value: randomUUID });
  const digest = (algorithm: string, data: Uint8Array): Promise<ArrayBuffer> =>
    Promise.resolve(Uint8Array.from(nodeCrypto.createHash(algorithm.replace('-', '')).update(data).digest()).buffer);
  // Hashes run on the thread pool, which knows nothing of virtual time. They are as good at once.
  Object.defineProperty(globalThis.crypto.subtle, 'digest', { value: digest });
  Object.assign(nodeCrypto, { randomUUID });
  Object.assign(zlib, {
    gzip: (data: Uint8Array, ...rest: [zlib.ZlibOptions, GzipCallback] | [GzipCallback]) => {
      const [options, callback] = rest.length === 1 ? [{}, rest[0]] : rest;
      if (!world) {
        gzip(data, options, callback);
        return;
      }
      const packed = gzipSync(data, options);
      world.schedule.after(world.random.next() * 3, 'gzip', () => {
        callback(null, packed);
      });
    },
  });
  Object.assign(timersPromises, {
    setTimeout: (ms: number, value?: unknown, { signal }: { readonly signal?: AbortSignal } = {}) =>
      world
        ? new Promise((resolve, reject) => {
            const end = (settle: () => void): void => {
              cancel();
              signal?.removeEventListener('abort', stop);
              settle();
            };
            const cancel = world?.schedule.after(ms, 'timer', () => end(() => resolve(value))) ?? (() => undefined);
            const stop = (): void => end(() => reject(abortError(signal)));
            if (signal?.aborted) stop();
            else signal?.addEventListener('abort', stop, { once: true });
          })
        : delay(ms, value, signal && { signal }),
    setImmediate: (value?: unknown) =>
      new Promise((resolve) => {
        globalThis.setImmediate(resolve, value);
      }),
  });
  syncBuiltinESMExports();

  return {
    enter: (entered) => {
      world = entered;
    },
    leave: () => {
      world = undefined;
    },
    // From a microtask, a tick comes when no other microtask is left.
    turn: () =>
      new Promise((resolve) => {
        void Promise.resolve().then(() => {
          nextTick(resolve);
        });
      }),
    breathe: () =>
      new Promise((resolve) => {
        setImmediate(resolve);
      }),
  };
}

/** As `node:timers/promises` rejects. */
function abortError(signal: AbortSignal | undefined): Error {
  return Object.assign(new Error('The operation was aborted', { cause: signal?.reason }), {
    name: 'AbortError',
    code: 'ABORT_ERR',
  });
}

type GzipCallback = Parameters<typeof zlib.gzip>[2];

/** What a simulated `setTimeout` answers. */
class SimulatedTimer {
  readonly cancel: () => void;

  constructor(cancel: () => void) {
    this.cancel = cancel;
  }

  ref(): this {
    return this;
  }

  unref(): this {
    return this;
  }

  hasRef(): boolean {
    return true;
  }
}

function uuidOf(random: Random): ReturnType<typeof nodeCrypto.randomUUID> {
  const hex = (digits: number): string => Array.from({ length: digits }, () => random.int(0, 15).toString(16)).join('');
  return `${hex(8)}-${hex(4)}-4${hex(3)}-8${hex(3)}-${hex(12)}`;
}
