import { Subject, type Observable } from 'rxjs';
import { reportOf, rewritten } from '../errorReport.js';
import { hookNames, type ClientEvent, type HookName, type Hooks } from './clientEvent.js';

interface Listener {
  readonly plugin: string;
  // A method, so that a hook for one type of event fits: it is only ever called with that one.
  hook(event: ClientEvent): unknown;
}

/** An event on its way, and how many others had to be told to bring it about. */
interface Pending {
  readonly event: ClientEvent;
  readonly depth: number;
}

/** A hook that answers events with events goes in a circle at some point. What lies deeper than this is dropped. */
const deepest = 8;

/**
 * Tells hooks and subscribers what happens. Each event reaches all of them, in the order in which plugins were added, before the next one
 * does. Nothing that they do reaches whoever tells: what they throw is reported, or left to RxJS.
 */
export class EventHub {
  readonly events: Observable<ClientEvent>;
  readonly #subject = new Subject<ClientEvent>();
  readonly #listeners = new Map<HookName, readonly Listener[]>();
  readonly #redact: (text: string) => string;
  readonly #pending: Pending[] = [];
  /** That of the event being told; 0 between them. */
  #depth = 0;

  /** @param redact takes secrets out of texts that plugins and errors bring along. */
  constructor(redact: (text: string) => string) {
    this.#redact = redact;
    this.events = this.#subject.asObservable();
  }

  /** Makes the event and tells it, if somebody watches: otherwise this costs next to nothing. */
  readonly emit = (make: () => ClientEvent): void => {
    if (!this.#subject.observed && this.#listeners.size === 0) return;
    if (this.#depth >= deepest) return;
    this.#pending.push({ event: this.#safe(make()), depth: this.#depth + 1 });
    if (this.#depth === 0) this.#drain();
  };

  /** Calls a plugin's hooks from now on. */
  add(plugin: string, hooks: Hooks): void {
    for (const name of hookNames) {
      const hook: Listener['hook'] | undefined = hooks[name];
      if (!hook) continue;
      this.#listeners.set(name, [...(this.#listeners.get(name) ?? []), { plugin, hook: hook.bind(hooks) }]);
    }
  }

  /** Calls a plugin's hooks no more. */
  remove(plugin: string): void {
    for (const [name, listeners] of this.#listeners) {
      const others = listeners.filter((listener) => listener.plugin !== plugin);
      if (others.length > 0) this.#listeners.set(name, others);
      else this.#listeners.delete(name);
    }
  }

  /** Reports what a plugin threw where nobody waits for it. */
  fault(plugin: string, hook: HookName | 'dispose', error: unknown): void {
    this.emit(() => ({ type: 'plugin-fault', plugin, hook, error: reportOf(error) }));
  }

  complete(): void {
    this.#listeners.clear();
    this.#subject.complete();
  }

  #drain(): void {
    try {
      for (let next = this.#pending.shift(); next; next = this.#pending.shift()) {
        this.#depth = next.depth;
        this.#tell(next.event);
      }
    } finally {
      this.#depth = 0;
    }
  }

  #tell(event: ClientEvent): void {
    for (const listener of this.#listeners.get(event.type) ?? []) {
      const report = (error: unknown): void => {
        // Of the report of a report there would be no end.
        if (event.type !== 'plugin-fault') this.fault(listener.plugin, event.type, error);
      };
      try {
        const answer = listener.hook(event);
        if (typeof answer === 'object' && answer !== null) Promise.resolve(answer).catch(report);
      } catch (error) {
        report(error);
      }
    }
    try {
      this.#subject.next(event);
    } catch {
      // RxJS reports what a subscriber throws as an unhandled error, apart from us. Only a switch of its past makes it come here.
    }
  }

  /** A copy that nobody alters, and that holds no secret. */
  #safe(event: ClientEvent): ClientEvent {
    const safe = { ...event };
    if ('error' in safe) return Object.freeze({ ...safe, error: rewritten(safe.error, this.#redact) });
    if ('message' in safe) return Object.freeze({ ...safe, message: this.#redact(safe.message) });
    return Object.freeze(safe);
  }
}
