interface Task {
  readonly keys: ReadonlySet<string>;
  readonly run: () => Promise<void>;
  /** Tasks that wait for this one. */
  readonly followers: Task[];
  /** Number of tasks that it waits for. */
  blockers: number;
  /** The one that is ready after it. */
  next?: Task;
}

/**
 * Runs tasks concurrently, but those that share a key one at a time, in the order of `add`. After the first failure no
 * more tasks are started, and `signal` is aborted with it.
 */
export class KeyedQueue {
  readonly #concurrency: number;
  /** The latest task of each key. */
  readonly #latest = new Map<string, Task>();
  /** The oldest of the tasks without blockers, which are linked: a started one is not kept in memory. */
  #first: Task | undefined;
  #last: Task | undefined;
  #running = 0;
  #waiters: (() => void)[] = [];
  #isPaused = false;
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
    if (task.blockers === 0) this.#append(task);
    this.#pump();
  }

  /** Starts no more tasks, and lets those that run end. */
  pause(): void {
    this.#isPaused = true;
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

  #append(task: Task): void {
    if (this.#first && this.#last) this.#last.next = task;
    else this.#first = task;
    this.#last = task;
  }

  #pump(): void {
    while (!this.#isPaused && !this.signal.aborted && this.#running < this.#concurrency) {
      const task = this.#first;
      if (!task) return;
      this.#first = task.next;
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
      if (follower.blockers === 0) this.#append(follower);
    }
    this.#pump();
    if (this.#running === 0) for (const resolve of this.#waiters.splice(0)) resolve();
  }
}
