/** Tasks that have begun and are still in the list. */
const maxPassed = 1_000;

interface Task {
  readonly keys: ReadonlySet<string>;
  readonly run: () => Promise<void>;
  /** Those that wait for this one. */
  readonly followers: Task[];
  /** How many it waits for itself. */
  blockers: number;
}

/**
 * Runs tasks, so many at once. Those that share a key run one after another, in the order of coming; all others side by side.
 *
 * After the first that fails none is begun any more.
 */
export class KeyedQueue {
  readonly #concurrency: number;
  readonly #last = new Map<string, Task>();
  /** What may begin, the oldest first; a list with a cursor, since taking from the front of one costs its length. */
  #ready: Task[] = [];
  #next = 0;
  #running = 0;
  #isStopped = false;
  #waiting: (() => void)[] = [];
  readonly #onFailure: (error: unknown) => void;

  constructor(concurrency: number, onFailure: (error: unknown) => void) {
    this.#concurrency = concurrency;
    this.#onFailure = onFailure;
  }

  add(keys: ReadonlySet<string>, run: () => Promise<void>): void {
    const task: Task = { keys, run, followers: [], blockers: 0 };
    for (const key of keys) {
      const before = this.#last.get(key);
      if (before) {
        before.followers.push(task);
        task.blockers += 1;
      }
      this.#last.set(key, task);
    }
    if (task.blockers === 0) this.#ready.push(task);
    this.#pump();
  }

  stop(): void {
    this.#isStopped = true;
  }

  idle(): Promise<void> {
    return new Promise((resolve) => {
      if (this.#running === 0) resolve();
      else this.#waiting.push(resolve);
    });
  }

  #pump(): void {
    while (!this.#isStopped && this.#running < this.#concurrency) {
      const task = this.#ready[this.#next];
      if (!task) return;
      this.#next += 1;
      if (this.#next >= maxPassed) {
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
      if (!this.#isStopped) this.#onFailure(error);
      this.#isStopped = true;
    }
    this.#running -= 1;
    for (const key of task.keys) if (this.#last.get(key) === task) this.#last.delete(key);
    for (const follower of task.followers) {
      follower.blockers -= 1;
      if (follower.blockers === 0) this.#ready.push(follower);
    }
    this.#pump();
    if (this.#running === 0) for (const resolve of this.#waiting.splice(0)) resolve();
  }
}
