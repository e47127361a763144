/**
 * Counts who waits for an answer, by origin: what is under way on behalf of nobody can end. A request and the connection that it waits
 * for don't know of each other otherwise.
 */
export class PendingRequests {
  readonly #rooms = new Map<string, Room>();

  /** One more waits. The answer is to be called when it waits no longer. */
  enter(origin: string): () => void {
    const room = this.#rooms.get(origin) ?? { waiting: 0, callbacks: new Set() };
    this.#rooms.set(origin, room);
    room.waiting += 1;
    return () => {
      room.waiting -= 1;
      if (room.waiting > 0) return;
      this.#rooms.delete(origin);
      for (const tell of room.callbacks) tell();
    };
  }

  /** Calls back once nobody waits any more, be that now. The answer ends that. */
  whenEmpty(origin: string, callback: () => void): () => void {
    const room = this.#rooms.get(origin);
    if (!room) callback();
    room?.callbacks.add(callback);
    return () => room?.callbacks.delete(callback);
  }
}

interface Room {
  waiting: number;
  readonly callbacks: Set<() => void>;
}
