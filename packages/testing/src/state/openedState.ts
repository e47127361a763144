import type { StateLog, StateStore } from '@sluice/core';
import { inTime } from '../waiting.js';
import { Skipped, type Trial } from '../suite.js';
import type { StateStoreFixture } from './stateStoreFixture.js';

type Release = Awaited<ReturnType<StateStore['lock']>>;

/** A state store and its locks and logs. */
export class OpenedState {
  store: StateStore;
  readonly #trial: Trial<StateStoreFixture>;
  readonly #fixture: StateStoreFixture;
  #release: Release = () => Promise.resolve();

  private constructor(trial: Trial<StateStoreFixture>, fixture: StateStoreFixture) {
    this.#trial = trial;
    this.#fixture = fixture;
    this.store = fixture.store;
  }

  static async on(trial: Trial<StateStoreFixture>): Promise<OpenedState> {
    return new OpenedState(trial, await trial.fixture());
  }

  static async locked(trial: Trial<StateStoreFixture>): Promise<OpenedState> {
    const state = await OpenedState.on(trial);
    await state.#take();
    trial.atEnd(() => state.#release());
    return state;
  }

  /** Starts another process, which finds what is durable. */
  async nextProcess(): Promise<void> {
    await this.#release();
    await this.#fixture.crash?.();
    this.store = await this.another();
    await this.#take();
  }

  /** Another store on the same state. */
  async another(): Promise<StateStore> {
    if (!this.#fixture.another) throw new Skipped('`another` of the fixture');
    return this.#fixture.another();
  }

  /** Requests a lock. */
  ask(use: 'export' | 'watch' = 'export', signal = new AbortController().signal, store = this.store): AskedLock {
    const asked = new AskedLock((async () => store.lock(signal, use))());
    this.#trial.atEnd(() => asked.release());
    return asked;
  }

  /** Opens and reads a log, because it must be read before an append. */
  async log(name: string): Promise<{ readonly log: StateLog; readonly records: readonly unknown[] }> {
    const log = this.store.log(name);
    this.#trial.atEnd(() => log.close());
    return { log, records: await recordsIn(log) };
  }

  /** The records of a log, opened again. */
  async logged(name: string): Promise<readonly unknown[]> {
    return (await this.log(name)).records;
  }

  async #take(): Promise<void> {
    const lock = this.store.lock(new AbortController().signal, 'export');
    this.#release = await inTime(lock, 'A free lock was not granted', this.#trial.timeout);
  }
}

/** A requested lock. */
export class AskedLock {
  outcome: 'waits' | 'given' | 'refused' = 'waits';
  reason: unknown;
  #release: Release | undefined;

  constructor(lock: Promise<Release>) {
    lock.then(
      (release) => {
        this.outcome = 'given';
        this.#release = release;
      },
      (reason: unknown) => {
        this.outcome = 'refused';
        this.reason = reason;
      },
    );
  }

  async release(): Promise<void> {
    const release = this.#release;
    this.#release = undefined;
    await release?.();
  }
}

export async function recordsIn(log: StateLog): Promise<readonly unknown[]> {
  const records: unknown[] = [];
  for await (const record of log.read()) records.push(record);
  return records;
}
