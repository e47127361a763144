import { Subject, type Observable } from 'rxjs';
import { reportOf, rewritten, textOf } from '../errorReport.js';
import { PluginError } from '../errors.js';
import { hookNames, type ClientEvent, type HookName, type Hooks, type PluginFaultEvent } from './clientEvent.js';

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

/** An event and all that hooks answer it with. A hook that answers each event with several would let nobody else have a turn. */
const maxAtOnce = 1_000;

/**
 * Tells hooks and subscribers what happens. Each event reaches all of them, in the order in which plugins were added, before the next one
 * does. Nothing that they do reaches whoever tells: what they throw is reported, or left to RxJS.
 */
export class EventHub {
  readonly events: Observable<ClientEvent>;
  readonly #subject = new Subject<ClientEvent>();
  readonly #listeners = new Map<HookName, readonly Listener[]>();
  readonly #redact: (text: string) => string;
  /** The event that is told from outside, and those that it brought about. */
  #pending: Pending[] = [];
  /** That of the event being told; 0 between them. */
  #depth = 0;
  /** Whose hook is being called, and for what. */
  #called: Pick<PluginFaultEvent, 'plugin' | 'hook'> | undefined;

  /** @param redact takes secrets out of texts that plugins and errors bring along. */
  constructor(redact: (text: string) => string) {
    this.#redact = redact;
    this.events = this.#subject.asObservable();
  }

  /** Makes the event and tells it, if somebody watches: otherwise this costs next to nothing. */
  readonly emit = (make: () => ClientEvent): void => {
    if (!this.#subject.observed && this.#listeners.size === 0) return;
    if (this.#depth >= deepest || this.#pending.length > maxAtOnce) return;
    const event = this.#pending.length < maxAtOnce ? make() : this.#storm();
    if (event) this.#pending.push({ event: this.#safe(event), depth: this.#depth + 1 });
    if (this.#depth === 0) this.#drain();
  };

  add(plugin: string, hooks: Hooks): void {
    for (const name of hookNames) {
      const hook: Listener['hook'] | undefined = hooks[name];
      if (!hook) continue;
      this.#listeners.set(name, [...(this.#listeners.get(name) ?? []), { plugin, hook: hook.bind(hooks) }]);
    }
  }

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
      // What is added meanwhile is told as well.
      for (const { event, depth } of this.#pending) {
        this.#depth = depth;
        this.#tell(event);
      }
    } finally {
      this.#depth = 0;
      this.#pending = [];
    }
  }

  #tell(event: ClientEvent): void {
    for (const listener of this.#listeners.get(event.type) ?? []) {
      const report = (error: unknown): void => {
        // Of the report of a report there would be no end.
        if (event.type !== 'plugin-fault') this.fault(listener.plugin, event.type, error);
      };
      this.#called = { plugin: listener.plugin, hook: event.type };
      try {
        const answer = listener.hook(event);
        if (typeof answer === 'object' && answer !== null) Promise.resolve(answer).catch(report);
      } catch (error) {
        report(error);
      }
    }
    this.#called = undefined;
    try {
      this.#subject.next(event);
    } catch {
      // RxJS reports what a subscriber throws as an unhandled error, apart from us. Only a switch of its past makes it come here.
    }
  }

  /** Told in the stead of the first event that is dropped, where it is a hook that goes too far. */
  #storm(): PluginFaultEvent | undefined {
    const error = new PluginError(
      `Hooks answered one event with more than ${String(maxAtOnce)} others. The rest was dropped: let them answer with less.`,
    );
    return this.#called && { type: 'plugin-fault', ...this.#called, error: reportOf(error) };
  }

  /** A copy that nobody alters, and that holds no secret in what plugins, APIs and errors bring along. */
  #safe(event: ClientEvent): ClientEvent {
    // What no compiler has seen may give anything for a text.
    const redact = (text: string): string => this.#redact(textOf(text));
    return Object.freeze({
      ...event,
      ...('route' in event && { route: redact(event.route) }),
      ...('source' in event && { source: redact(event.source) }),
      ...('sink' in event && { sink: redact(event.sink) }),
      ...('name' in event && { name: redact(event.name) }),
      ...('message' in event && { message: redact(event.message) }),
      ...('error' in event && { error: rewritten(event.error, redact) }),
    });
  }
}
