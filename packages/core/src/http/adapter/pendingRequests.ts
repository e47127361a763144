/** Counts pending requests by origin, so that connecting can stop when no request waits for it. */
export class PendingRequests {
  readonly #origins = new Map<string, OriginRequests>();

  /** Adds a request. Returns a function that removes it. */
  enter(origin: string): () => void {
    const requests = this.#origins.get(origin) ?? { pending: 0, callbacks: new Set() };
    this.#origins.set(origin, requests);
    requests.pending += 1;
    return () => {
      requests.pending -= 1;
      if (requests.pending > 0) return;
      this.#origins.delete(origin);
      for (const callback of requests.callbacks) callback();
    };
  }

  /** Calls back when no request is pending, maybe at once. Returns a function that cancels this. */
  whenEmpty(origin: string, callback: () => void): () => void {
    const requests = this.#origins.get(origin);
    if (!requests) callback();
    requests?.callbacks.add(callback);
    return () => requests?.callbacks.delete(callback);
  }
}

interface OriginRequests {
  pending: number;
  readonly callbacks: Set<() => void>;
}
