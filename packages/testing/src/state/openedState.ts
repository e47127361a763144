import type { StateStore } from '@sluice/core';
import type { Release, StateLog } from '@sluice/core/kit';
import { check, show } from '../check.js';
import { Skipped, type Trial } from '../suite.js';
import type { StateStoreFixture } from './stateStoreFixture.js';

/** A state store and its locks and logs. */
export class OpenedState {
  store: StateStore;
  readonly #trial: Trial;
  readonly #fixture: StateStoreFixture;
  #release: Release = () => Promise.resolve();

  constructor(trial: Trial, fixture: StateStoreFixture) {
    this.#trial = trial;
    this.#fixture = fixture;
    this.store = fixture.store;
    trial.atEnd(() => this.#release());
  }

  /** Locks the state like an export. */
  async lock(): Promise<this> {
    const lock = this.store.lock(new AbortController().signal, 'export');
    this.#release = await this.#trial.inTime(lock, 'A free lock was not granted');
    return this;
  }

  /** Starts another process, which finds what is durable. */
  async nextProcess(): Promise<void> {
    await this.#release();
    await this.#fixture.crash?.();
    this.store = await this.another();
    await this.lock();
  }

  /** Another store on the same state. */
  async another(): Promise<StateStore> {
    if (!this.#fixture.another) throw new Skipped('`another` of the fixture');
    return this.#fixture.another();
  }

  requestLock(
    use: 'export' | 'watch' = 'export',
    signal = new AbortController().signal,
    store = this.store,
  ): RequestedLock {
    const requested = new RequestedLock(this.#trial, (async () => store.lock(signal, use))());
    this.#trial.atEnd(() => requested.release());
    return requested;
  }

  /** Opens a log and reads it, because it must be read before an append. */
  async log(name = 'changes'): Promise<StateLog> {
    const log = this.unreadLog(name);
    await readRecords(log);
    return log;
  }

  unreadLog(name = 'changes'): StateLog {
    const log = this.store.log(name);
    this.#trial.atEnd(() => log.close());
    return log;
  }

  /** The records of a log, opened again. */
  async logged(name = 'changes'): Promise<readonly unknown[]> {
    return readRecords(this.unreadLog(name));
  }
}

/** A requested lock. */
export class RequestedLock {
  state: 'waiting' | 'granted' | 'refused' = 'waiting';
  reason: unknown;
  readonly #trial: Trial;
  #release: Release | undefined;

  constructor(trial: Trial, lock: Promise<Release>) {
    this.#trial = trial;
    lock.then(
      (release) => {
        this.state = 'granted';
        this.#release = release;
      },
      (reason: unknown) => {
        this.state = 'refused';
        this.reason = reason;
      },
    );
  }

  async release(): Promise<void> {
    const release = this.#release;
    this.#release = undefined;
    await release?.();
  }

  async settle(who: string): Promise<void> {
    await this.#trial.eventually(() => this.state !== 'waiting', `${who} neither got the lock nor was refused`);
  }

  async checkGranted(who: string): Promise<void> {
    await this.settle(who);
    check(this.state === 'granted', `${who} must get the lock, but was ${this.outcome}.`);
  }

  async checkAborted(who: string, reason: unknown): Promise<void> {
    await this.settle(who);
    check(
      this.state === 'refused' && this.reason === reason,
      `An aborted lock request must be refused with signal.reason itself, but was ${this.outcome}.`,
    );
  }

  /** In a message, after "but was". */
  get outcome(): string {
    const { state, reason } = this;
    if (state === 'refused') return `refused with ${show(reason)}`;
    return state === 'granted' ? 'granted the lock' : 'left waiting';
  }
}

export async function readRecords(log: StateLog): Promise<readonly unknown[]> {
  const records: unknown[] = [];
  for await (const record of log.read()) records.push(record);
  return records;
}
