/** Calls back when signals abort, with one listener per signal: Node.js warns of a leak beyond ten. */
export class SignalWatch {
  readonly #watched = new Map<AbortSignal, Watched>();

  /** Returns a function that ends the watch. */
  watch(signal: AbortSignal, onAbort: () => void): () => void {
    const watched = this.#watched.get(signal) ?? this.#listenTo(signal);
    watched.callbacks.add(onAbort);
    return () => {
      if (watched.callbacks.delete(onAbort) && watched.callbacks.size === 0) watched.unlisten();
    };
  }

  #listenTo(signal: AbortSignal): Watched {
    const callbacks = new Set<() => void>();
    const callAll = (): void => {
      for (const onAbort of callbacks) onAbort();
    };
    signal.addEventListener('abort', callAll, { once: true });
    const watched = {
      callbacks,
      unlisten: () => {
        this.#watched.delete(signal);
        signal.removeEventListener('abort', callAll);
      },
    };
    this.#watched.set(signal, watched);
    return watched;
  }
}

interface Watched {
  readonly callbacks: Set<() => void>;
  unlisten(): void;
}
