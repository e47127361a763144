import type { Clock } from '../clock.js';
import { reportOf } from '../errorReport.js';
import { PluginError, SinkError, SluiceError } from '../errors.js';
import type { Json } from '../source/definition.js';
import { inWords } from '../values.js';
import type { Sink, SinkContext, SinkWriter } from './sink.js';
import type { StateLog, StateStore } from './stateStore.js';

/** Ms that a call may take after the cancel. Before it, a call may take as long as it likes: a database may be slow. */
const longestCall = 30_000;

/** Deeper positions are refused; those that contain themselves have no end. */
const deepest = 100;

interface GivenOptions {
  readonly clock: Clock;
  /** Aborted when nobody waits for the calls any longer. */
  readonly signal: AbortSignal;
}

/**
 * A sink that somebody else wrote. Its errors name it and the call that failed, and after a cancel nothing waits for it
 * without an end. After a call that hangs none is made, since the calls of a sink never overlap.
 */
export function givenSink<T>(sink: Sink<T>, options: GivenOptions): Sink<T> {
  const whose = `The sink ${sink.name}`;
  const calls = new GivenCalls(whose, SinkError, options);
  const { name, identity, target, delivery, state, isRefreshed } = sink;
  return {
    name,
    identity,
    delivery,
    ...(target !== undefined && { target }),
    ...(isRefreshed !== undefined && { isRefreshed }),
    ...(state && { state: givenStore(state, `The state of the sink ${sink.name}`, options) }),
    ...(sink.check && { check: (context) => calls.make('check', () => sink.check?.(context)) }),
    ...(sink.withoutPartition && {
      withoutPartition: (at, partition) =>
        calls.read('withoutPartition', () => sink.withoutPartition?.(at, partition) ?? null),
    }),
    ...(sink.finished && { finished: (at) => calls.make('finished', () => sink.finished?.(at)) }),
    open: async (context) => {
      const giveUp = async (writer: SinkWriter<T>): Promise<void> =>
        writer.abort(undefined, { isResumable: context.resumeAt !== undefined });
      const writer = await calls.make('open', () => sink.open(context), giveUp);
      const missing = methods.filter((method) => typeof Reflect.get(Object(writer), method) !== 'function');
      if (missing.length === 0) return givenWriter(writer, whose, calls, context);
      if (!missing.includes('abort')) await calls.make('abort', () => giveUp(writer)).catch(() => undefined);
      throw new PluginError(`${whose} lacks ${missing.join(', ')}: what its open returns must have these methods.`);
    },
  };
}

/** A state store that somebody else wrote, like {@link givenSink}. */
export function givenStore(store: StateStore, whose: string, options: GivenOptions): StateStore {
  const calls = new GivenCalls(whose, PluginError, options);
  // A store that hangs is asked nevertheless to release its lock.
  const ofRelease = new GivenCalls(whose, PluginError, options);
  const log = (inner: StateLog): StateLog => ({
    get bytes() {
      return inner.bytes;
    },
    read: () => inner.read(),
    append: (record) => calls.make('append', () => inner.append(record)),
    replace: (records) => calls.make('replace', () => inner.replace(records)),
    remove: () => calls.make('remove', () => inner.remove()),
    close: () => calls.make('close', () => inner.close()),
  });
  return {
    ...(store.folder !== undefined && { folder: store.folder }),
    lock: async (signal, use) => {
      const release = await calls.make(
        'lock',
        () => store.lock(signal, use),
        (late) => late(),
      );
      return () => ofRelease.make('the release of its lock', release);
    },
    load: (name) => calls.make('load', () => store.load(name)),
    save: (name, record) => calls.make('save', () => store.save(name, record)),
    remove: (name) => calls.make('remove', () => store.remove(name)),
    log: (name) => log(calls.read('log', () => store.log(name))),
  };
}

/** Whether an error says that a call of a sink or a state store never ended. */
export function isHanging(error: unknown): error is SluiceError {
  return SluiceError.is(error) && error.details['hangsIn'] !== undefined;
}

const methods = ['write', 'flush', 'seal', 'close', 'abort'] as const satisfies readonly (keyof SinkWriter<unknown>)[];

function givenWriter<T>(
  writer: SinkWriter<T>,
  whose: string,
  calls: GivenCalls,
  { log }: SinkContext<T>,
): SinkWriter<T> {
  /** A position that is stored as something else would resume elsewhere. Without state, none is stored. */
  const checked = (position: Json, method: string): Json => {
    if (!log || isPlain(position)) return position;
    throw new PluginError(
      `${whose} returned a position from ${method} that is not plain JSON (${inWords(position)}), so no run could resume there.`,
    );
  };
  const start = calls.read('start', () => writer.start);
  return {
    ...(start !== undefined && { start: checked(start, 'start') }),
    get isFull() {
      return calls.read('isFull', () => writer.isFull) ?? false;
    },
    get isCommittable() {
      return calls.read('isCommittable', () => writer.isCommittable) ?? true;
    },
    write: (page) => calls.make('write', () => writer.write(page)),
    flush: async () => checked(await calls.make('flush', () => writer.flush()), 'flush'),
    seal: async (end) => checked(await calls.make('seal', () => writer.seal(end)), 'seal'),
    ...(writer.suspend && { suspend: () => calls.make('suspend', () => writer.suspend?.() ?? writer.close()) }),
    close: () => calls.make('close', () => writer.close()),
    abort: (reason, how) => calls.make('abort', () => writer.abort(reason, how)),
  };
}

/** Calls of code that somebody else wrote. Errors of Sluice pass as they are. */
class GivenCalls {
  readonly #whose: string;
  readonly #error: typeof SinkError | typeof PluginError;
  readonly #clock: Clock;
  readonly #signal: AbortSignal;
  /** Start the time of the pending calls. Not listeners: see `abortableBy`. */
  readonly #pending: (() => void)[] = [];
  #hanging: SluiceError | undefined;

  constructor(whose: string, error: typeof SinkError | typeof PluginError, { clock, signal }: GivenOptions) {
    this.#whose = whose;
    this.#error = error;
    this.#clock = clock;
    this.#signal = signal;
    const onAbort = (): void => {
      for (const limit of this.#pending.slice()) limit();
    };
    signal.addEventListener('abort', onAbort, { once: true });
  }

  /** @param undo takes back what a call returns after nobody waited for it any longer. */
  make<R>(method: string, call: () => R | Promise<R>, undo?: (late: R) => unknown): Promise<R> {
    return new Promise((resolve, reject) => {
      if (this.#hanging) throw this.#hanging;
      let stopClock = (): void => undefined;
      let isLate = false;
      const limit = (): void => {
        stopClock = this.#clock.after(longestCall, () => {
          isLate = true;
          reject((this.#hanging ??= this.#tooLong(method)));
        });
      };
      const settle = (): void => {
        stopClock();
        this.#pending.splice(this.#pending.indexOf(limit), 1);
      };
      this.#pending.push(limit);
      if (this.#signal.aborted) limit();
      (async () => call())().then(
        async (result) => {
          settle();
          resolve(result);
          // Nobody is left to be told of its errors.
          if (isLate) await (async () => undo?.(result))().catch(() => undefined);
        },
        (error: unknown) => {
          settle();
          reject(this.#named(error, method));
        },
      );
    });
  }

  read<R>(property: string, read: () => R): R {
    try {
      return read();
    } catch (error) {
      throw this.#named(error, property);
    }
  }

  /** The reason of the signal is not an error of the sink. */
  #named(error: unknown, method: string): unknown {
    if (SluiceError.is(error) || (this.#signal.aborted && error === this.#signal.reason)) return error;
    const said = reportOf(error).message.trim().replace(/\s+/g, ' ');
    const advice = error instanceof Error ? [{ kind: 'see-cause' } as const] : [];
    return new this.#error(`${this.#whose} failed in ${method}: ${said.replace(/\.$/, '')}.`, { cause: error, advice });
  }

  #tooLong(method: string): SluiceError {
    const message = `${this.#whose} hangs in ${method}: it did not end within ${longestCall / 1000} s after the cancel, and may still be at work.`;
    return new this.#error(message, {
      cause: this.#signal.reason,
      details: { hangsIn: method, ms: longestCall },
    });
  }
}

/** Whether JSON keeps a value as it is. */
function isPlain(value: unknown, depth = 0): boolean {
  if (depth > deepest) return false;
  if (typeof value === 'number') return Number.isFinite(value);
  if (typeof value !== 'object' || value === null)
    return ['string', 'boolean'].includes(typeof value) || value === null;
  if (Array.isArray(value)) return value.every((item) => isPlain(item, depth + 1));
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== null && Object.getPrototypeOf(prototype) !== null) return false;
  return Object.values(value).every((field) => field === undefined || isPlain(field, depth + 1));
}
