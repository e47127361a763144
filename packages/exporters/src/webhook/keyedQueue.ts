/** Maximum number of started tasks that are still in the list. */
const maxStarted = 1_000;

interface Task {
  readonly keys: ReadonlySet<string>;
  readonly run: () => Promise<void>;
  /** Tasks that wait for this one. */
  readonly followers: Task[];
  /** Number of tasks that it waits for. */
  blockers: number;
}

/**
 * Runs tasks concurrently, but those that share a key one at a time, in the order of `add`. After the first failure no
 * more tasks are started, and `signal` is aborted with it.
 */
export class KeyedQueue {
  readonly #concurrency: number;
  /** The latest task of each key. */
  readonly #latest = new Map<string, Task>();
  /** Tasks without blockers, oldest first, from `#next` on: `shift` would take linear time. */
  #ready: Task[] = [];
  #next = 0;
  #running = 0;
  #waiters: (() => void)[] = [];
  readonly #ending = new AbortController();

  constructor(concurrency: number) {
    this.#concurrency = concurrency;
  }

  get signal(): AbortSignal {
    return this.#ending.signal;
  }

  add(keys: ReadonlySet<string>, run: () => Promise<void>): void {
    const task: Task = { keys, run, followers: [], blockers: 0 };
    for (const key of keys) {
      const before = this.#latest.get(key);
      if (before) {
        before.followers.push(task);
        task.blockers += 1;
      }
      this.#latest.set(key, task);
    }
    if (task.blockers === 0) this.#ready.push(task);
    this.#pump();
  }

  /** Only the first reason counts. */
  stop(reason: unknown): void {
    this.#ending.abort(reason);
  }

  idle(): Promise<void> {
    return new Promise((resolve) => {
      if (this.#running === 0) resolve();
      else this.#waiters.push(resolve);
    });
  }

  #pump(): void {
    while (!this.signal.aborted && this.#running < this.#concurrency) {
      const task = this.#ready[this.#next];
      if (!task) return;
      this.#next += 1;
      if (this.#next >= maxStarted) {
        this.#ready = this.#ready.slice(this.#next);
        this.#next = 0;
      }
      void this.#run(task);
    }
  }

  async #run(task: Task): Promise<void> {
    this.#running += 1;
    try {
      await task.run();
    } catch (error) {
      this.stop(error);
    }
    this.#running -= 1;
    for (const key of task.keys) if (this.#latest.get(key) === task) this.#latest.delete(key);
    for (const follower of task.followers) {
      follower.blockers -= 1;
      if (follower.blockers === 0) this.#ready.push(follower);
    }
    this.#pump();
    if (this.#running === 0) for (const resolve of this.#waiters.splice(0)) resolve();
  }
}
