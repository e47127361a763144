/** Calls back when signals abort, with one listener per signal: Node.js warns of a leak beyond ten. */
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
      // Also those that are added meanwhile.
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
   * Not a `Set`: when V8 makes room in one, its old table keeps what was in it, and leads to the new one. Once an old table is
   * in the old generation, that retains every request since, with its page, until a full garbage collection.
   */
  readonly callbacks: (() => void)[];
  unlisten(): void;
}
