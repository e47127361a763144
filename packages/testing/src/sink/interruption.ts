import type { Sink, StateStore } from '@sluice/core';
import type { SinkWriter } from '@sluice/core/kit';
import type { DrivenSink } from './drivenSink.js';

/** How an export is interrupted: a step fails, or its process dies, before or after the effect of the step. */
export type Manner = 'fails before' | 'fails after' | 'dies before' | 'dies after';

export const manners: readonly Manner[] = ['fails before', 'fails after', 'dies before', 'dies after'];

/** A sink and a state store that are interrupted at one step: it fails, or its promise never settles. */
export class Interruption {
  readonly sink: Sink<unknown>;
  readonly state: StateStore;
  /** Resolves at the step at which the process dies. */
  readonly died: Promise<void>;
  /** The step that was interrupted; empty if it was not reached. */
  step = '';
  readonly #target: DrivenSink;
  readonly #manner: Manner;
  #left: number;
  #die: () => void = () => undefined;

  /** @param nth counts the steps of an export from 1. */
  constructor(target: DrivenSink, manner: Manner, nth: number) {
    this.#target = target;
    this.#manner = manner;
    this.#left = nth;
    this.died = new Promise((resolve) => (this.#die = resolve));
    this.sink = this.#sink(target.sink);
    this.state = this.#state(target.state);
  }

  /** Counts steps, and interrupts one of them. */
  async #at<R>(step: string, call: () => Promise<R>, canEndAfter = true): Promise<R> {
    const isAfter = this.#manner.endsWith('after');
    if (isAfter && !canEndAfter) return call();
    this.#left -= 1;
    if (this.#left !== 0) return call();
    this.step = step;
    if (isAfter) await call();
    if (this.#manner.startsWith('fails')) throw new Error(`The check lets ${step} fail.`);
    this.#die();
    return new Promise(() => undefined);
  }

  #sink(sink: Sink<unknown>): Sink<unknown> {
    const { name, identity, target, delivery, withoutPartition } = sink;
    return {
      name,
      identity,
      delivery,
      target,
      withoutPartition,
      check: (context) => this.#at('check', async () => sink.check?.(context)),
      open: async (context) => {
        const open = async (): Promise<SinkWriter<unknown>> => {
          const writer = await sink.open(context);
          if (this.#manner.startsWith('dies')) this.#target.abortAtEnd(writer);
          return this.#writer(writer);
        };
        // A sink that fails to open has changed nothing.
        return this.#at('open', open, this.#manner === 'dies after');
      },
    };
  }

  #writer(writer: SinkWriter<unknown>): SinkWriter<unknown> {
    return {
      start: writer.start,
      get isCommittable() {
        return writer.isCommittable ?? true;
      },
      failed: writer.failed,
      get isFull() {
        return writer.isFull ?? false;
      },
      write: (page) => this.#at('write', () => writer.write(page)),
      flush: () => this.#at('flush', () => writer.flush()),
      seal: (end) => this.#at('seal', () => writer.seal(end)),
      close: () => this.#at('close', () => writer.close()),
      abort: (reason, how) => writer.abort(reason, how),
    };
  }

  #state(state: StateStore): StateStore {
    return {
      lock: async (signal, use) => {
        const release = await state.lock(signal, use);
        this.#target.releaseAtCrash(release);
        return release;
      },
      load: (name) => state.load(name),
      log: (name) => state.log(name),
      save: (name, record) => this.#at('the saving of a checkpoint', () => state.save(name, record)),
      // Without a checkpoint there is nothing to resume from.
      remove: (name) => this.#at('the removal of the checkpoint', () => state.remove(name), false),
    };
  }
}
