/** Calls back when signals abort, with one listener per signal: beyond ten listeners, Node.js warns of a leak. */
export class SignalWatch {
  readonly #watched = new Map<AbortSignal, Watched>();

  /** Returns a function that ends the watch. */
  watch(signal: AbortSignal, onAbort: () => void): () => void {
    const watched = this.#watched.get(signal) ?? this.#listenTo(signal);
    watched.callbacks.push(onAbort);
    return () => {
      const at = watched.callbacks.indexOf(onAbort);
      if (at < 0) return;
      watched.callbacks.splice(at, 1);
      if (watched.callbacks.length === 0) watched.unlisten();
    };
  }

  #listenTo(signal: AbortSignal): Watched {
    const callbacks: (() => void)[] = [];
    let isCalling = false;
    const callAll = (): void => {
      isCalling = true;
      // `shift` also finds callbacks that are added meanwhile.
      for (let onAbort = callbacks.shift(); onAbort; onAbort = callbacks.shift()) onAbort();
      this.#watched.delete(signal);
    };
    signal.addEventListener('abort', callAll, { once: true });
    const watched = {
      callbacks,
      unlisten: () => {
        if (isCalling) return;
        this.#watched.delete(signal);
        signal.removeEventListener('abort', callAll);
      },
    };
    this.#watched.set(signal, watched);
    return watched;
  }
}

interface Watched {
  /**
   * Not a `Set`: when V8 makes room in a set, its old table keeps its content and refers to the new table. Once an old
   * table is in the old generation, it retains every later request, with its page, until a full garbage collection.
   */
  readonly callbacks: (() => void)[];
  unlisten(): void;
}
