import { abortableBy } from '../../abortable.js';
import { settlesWithin, type Clock } from '../../clock.js';
import { reportOf } from '../../errorReport.js';
import { ConfigError, PluginError, SinkError, SluiceError } from '../../errors.js';
import { isPlain } from '../../json.js';
import type { Json } from '../source/definition.js';
import type { StateLog } from '../../stateLog.js';
import { inWords, isRecord } from '../../values.js';
import type { Sink, SinkContext, SinkWriter } from './sink.js';
import type { StateStore } from './stateStore.js';

/** Ms that a call may take after the cancel. Before the cancel, calls have no limit: a database may be slow. */
const longestCall = 30_000;

/** Positions with more levels are refused; a position that contains itself has infinitely many. */
const deepest = 100;

/** Options of {@link guardStore}. */
export interface GuardOptions {
  readonly clock: Clock;
  /** Aborted when nobody waits for the calls any longer. */
  readonly signal: AbortSignal;
  /** Called at the beginning of each call. Returns a function to call at its end. */
  readonly onCall?: ((call: string) => () => void) | undefined;
}

/** @throws ConfigError unless it is a sink: JavaScript callers may pass anything. */
export function checkSink(owner: string, sink: unknown): void {
  if (!isRecord(sink) || typeof sink['open'] !== 'function')
    throw new ConfigError(`${owner} takes a sink: given is ${inWords(sink)}.`, { option: 'sink' });
}

/**
 * Guards a sink of a third party: its errors name the sink and the call that failed, and after a cancel nobody waits
 * for it forever. After a call that hangs, no other call is made, since the calls of a sink never overlap.
 */
export function guardSink<T>(sink: Sink<T>, options: GuardOptions): Sink<T> {
  const whose = `The sink ${sink.name}`;
  const calls = new GuardedCalls(whose, SinkError, options);
  const { name, identity, target, delivery, state, isRefreshed, addsColumns } = sink;
  return {
    name,
    identity,
    target,
    delivery,
    isRefreshed,
    addsColumns,
    state: state && guardStore(state, `The state of the sink ${name}`, options),
    check: sink.check && ((context) => calls.make('check', async () => sink.check?.(context))),
    withoutPartition:
      sink.withoutPartition &&
      ((at, partition) => calls.read('withoutPartition', () => sink.withoutPartition?.(at, partition) ?? null)),
    finished: sink.finished && ((at, warn) => calls.make('finished', async () => sink.finished?.(at, warn))),
    open: async (context) => {
      const giveUp = async (writer: SinkWriter<T>): Promise<void> =>
        writer.abort(undefined, { isResumable: context.resumeAt !== undefined });
      const writer = await calls.make('open', () => sink.open(context), giveUp);
      const missing = methods.filter((method) => typeof Reflect.get(Object(writer), method) !== 'function');
      if (missing.length === 0) return guardWriter(writer, whose, calls, context);
      if (!missing.includes('abort')) await calls.make('abort', () => giveUp(writer)).catch(() => undefined);
      throw new PluginError(`${whose} lacks ${missing.join(', ')}: what its open returns must have these methods.`);
    },
  };
}

/** Makes errors of a store name it (`whose`) and the call that failed, and gives up calls that hang after a cancel. */
export function guardStore(store: StateStore, whose: string, options: GuardOptions): StateStore {
  const calls = new GuardedCalls(whose, PluginError, options);
  // Even a store that hangs is asked to release its lock.
  const releases = new GuardedCalls(whose, PluginError, options);
  const guardLog = (log: StateLog): StateLog => ({
    get bytes() {
      return log.bytes;
    },
    async *read() {
      try {
        yield* log.read();
      } catch (error) {
        throw calls.wrapError(error, 'read');
      }
    },
    append: (record) => calls.make('append', () => log.append(record)),
    replace: (records) => calls.make('replace', () => log.replace(records)),
    checkReplaceable: () => calls.make('checkReplaceable', async () => log.checkReplaceable?.()),
    remove: () => calls.make('remove', () => log.remove()),
    close: () => calls.make('close', () => log.close()),
  });
  return {
    folder: store.folder,
    lock: async (signal, use, onOutage) => {
      const release = await calls.make(
        'lock',
        () => store.lock(signal, use, onOutage),
        (late) => late(),
      );
      return () => releases.make('the release of its lock', release);
    },
    load: (name) => calls.make('load', () => store.load(name)),
    save: (name, record) => calls.make('save', () => store.save(name, record)),
    remove: (name) => calls.make('remove', () => store.remove(name)),
    log: (name) => guardLog(calls.read('log', () => store.log(name))),
  };
}

/** Whether an error says that a call of a sink or a state store never ended. */
export function isHanging(error: unknown): error is SluiceError {
  return SluiceError.is(error) && error.details['hangsIn'] !== undefined;
}

const methods = ['write', 'flush', 'seal', 'close', 'abort'] as const satisfies readonly (keyof SinkWriter<unknown>)[];

function guardWriter<T>(
  writer: SinkWriter<T>,
  whose: string,
  calls: GuardedCalls,
  { log }: SinkContext<T>,
): SinkWriter<T> {
  /** A position that JSON changes would resume elsewhere. Without state, no position is stored. */
  const checkPosition = (position: Json, method: string): Json => {
    if (!log || isPlainJson(position)) return position;
    throw new PluginError(
      `${whose} returned a position from ${method} that is not plain JSON (${inWords(position)}), so no run could resume there.`,
    );
  };
  const start = calls.read('start', () => writer.start);
  return {
    start: start === undefined ? undefined : checkPosition(start, 'start'),
    get isFull() {
      return calls.read('isFull', () => writer.isFull);
    },
    get isCommittable() {
      return calls.read('isCommittable', () => writer.isCommittable);
    },
    failed: calls.read('failed', () => writer.failed),
    write: (page) => calls.make('write', () => writer.write(page)),
    flush: async () => checkPosition(await calls.make('flush', () => writer.flush()), 'flush'),
    seal: async (end) => checkPosition(await calls.make('seal', () => writer.seal(end)), 'seal'),
    suspend: writer.suspend && (() => calls.make('suspend', () => writer.suspend?.() ?? writer.close())),
    close: () => calls.make('close', () => writer.close()),
    abort: (reason, how) => calls.make('abort', () => writer.abort(reason, how)),
  };
}

/** Calls code of a third party. Errors of Sluice pass unchanged. */
class GuardedCalls {
  readonly #whose: string;
  readonly #error: typeof SinkError | typeof PluginError;
  readonly #options: GuardOptions;
  readonly #untilCancelled: <R>(call: Promise<R>) => Promise<R>;
  #hanging: SluiceError | undefined;

  constructor(whose: string, error: typeof SinkError | typeof PluginError, options: GuardOptions) {
    this.#whose = whose;
    this.#error = error;
    this.#options = options;
    this.#untilCancelled = abortableBy(options.signal);
  }

  /** @param undo undoes a call that returns after it was given up, by its result. */
  async make<R>(method: string, call: () => Promise<R>, undo?: (late: R) => unknown): Promise<R> {
    if (this.#hanging) throw this.#hanging;
    const { clock, signal, onCall } = this.#options;
    // `call` may throw synchronously, so an async function calls it.
    const ended = onCall?.(method);
    const result = (async () => call())();
    if (ended) result.then(ended, ended);
    await this.#untilCancelled(result).catch(() => undefined);
    if (signal.aborted && !(await settlesWithin(clock, longestCall, result))) {
      result.then((late) => undo?.(late)).catch(() => undefined);
      throw (this.#hanging ??= this.#tooLong(method));
    }
    try {
      return await result;
    } catch (error) {
      throw this.wrapError(error, method);
    }
  }

  read<R>(property: string, read: () => R): R {
    try {
      return read();
    } catch (error) {
      throw this.wrapError(error, property);
    }
  }

  /** The reason of the signal is not an error of the sink. */
  wrapError(error: unknown, method: string): unknown {
    const { signal } = this.#options;
    if (SluiceError.is(error) || (signal.aborted && error === signal.reason)) return error;
    const { name, message } = reportOf(error);
    const said = message.trim().replace(/\s+/g, ' ') || name;
    const advice = error instanceof Error ? [{ kind: 'see-cause' } as const] : [];
    return new this.#error(`${this.#whose} failed in ${method}: ${said.replace(/\.$/, '')}.`, { cause: error, advice });
  }

  #tooLong(method: string): SluiceError {
    const message = `${this.#whose} hangs in ${method}: it did not end within ${longestCall / 1000} s after the cancel, and may still be at work.`;
    return new this.#error(message, {
      cause: this.#options.signal.reason,
      details: { hangsIn: method, ms: longestCall },
    });
  }
}

/** Whether JSON stores a value unchanged. */
function isPlainJson(value: unknown, depth = 0): boolean {
  if (depth > deepest) return false;
  if (typeof value === 'number') return Number.isFinite(value);
  if (typeof value !== 'object' || value === null)
    return ['string', 'boolean'].includes(typeof value) || value === null;
  if (Array.isArray(value)) return value.every((item) => isPlainJson(item, depth + 1));
  return isPlain(value) && Object.values(value).every((field) => field === undefined || isPlainJson(field, depth + 1));
}
