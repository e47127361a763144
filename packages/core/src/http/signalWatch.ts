/**
 * Calls back when signals are aborted. A signal gets one listener, however many requests share it: more than ten of them would
 * look like a leak to Node.js, which then warns.
 */
export class SignalWatch {
  readonly #watched = new Map<AbortSignal, Watched>();

  /** The answer ends the watch. */
  watch(signal: AbortSignal, onAbort: () => void): () => void {
    const watched = this.#watched.get(signal) ?? this.#listenTo(signal);
    watched.callbacks.add(onAbort);
    return () => {
      if (watched.callbacks.delete(onAbort) && watched.callbacks.size === 0) watched.unlisten();
    };
  }

  #listenTo(signal: AbortSignal): Watched {
    const callbacks = new Set<() => void>();
    const tell = (): void => {
      for (const onAbort of callbacks) onAbort();
    };
    signal.addEventListener('abort', tell, { once: true });
    const watched = {
      callbacks,
      unlisten: () => {
        this.#watched.delete(signal);
        signal.removeEventListener('abort', tell);
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
