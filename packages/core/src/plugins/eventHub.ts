import { Observable, Subject } from 'rxjs';
import { reportOf, textOf } from '../errorReport.js';
import { rewriteReport } from '../redactError.js';
import { PluginError } from '../errors.js';
import type { Emit } from '../http/events.js';
import {
  hookNames,
  type ClientEvent,
  type EventOf,
  type HookName,
  type Hooks,
  type PluginFaultEvent,
} from './clientEvent.js';

interface Listener {
  readonly plugin: string;
  // A method, so that the compiler accepts a hook for one type of event: it is only called with that one.
  hook(event: ClientEvent): unknown;
}

interface EventObserver {
  // A method, as above: it receives only events of the types that it observes.
  next(event: ClientEvent): void;
}

/** An event to dispatch, and how many events led to it. */
interface Pending {
  readonly event: ClientEvent;
  readonly depth: number;
}

/** Hooks that answer events with events may do so forever. Deeper events are dropped. */
const maxDepth = 8;

/** An event and all that hooks emit because of it: more would block everything else. */
const maxEvents = 1_000;

/**
 * Dispatches events to hooks, in the order in which plugins were added, and to subscribers, one event after the other.
 * The emitter sees no errors: those of hooks are reported, those of subscribers are left to RxJS.
 */
export class EventHub {
  readonly #subjects = new Map(hookNames.map((type) => [type, new Subject<ClientEvent>()]));
  readonly #listeners = new Map<HookName, readonly Listener[]>();
  readonly #redact: (text: string) => string;
  /** The event emitted from outside, and those that it led to. */
  #pending: Pending[] = [];
  /** The depth of the event being dispatched; 0 if none is. */
  #depth = 0;
  /** The hook being called. */
  #currentHook: Pick<PluginFaultEvent, 'plugin' | 'hook'> | undefined;

  /** @param redact removes secrets from texts of plugins and errors. */
  constructor(redact: (text: string) => string) {
    this.#redact = redact;
  }

  /** Makes and dispatches an event, unless nobody receives its type: then it costs next to nothing. */
  readonly emit: Emit<ClientEvent> = (type, make) => {
    if (!this.isObserved(type)) return;
    if (this.#depth >= maxDepth || this.#pending.length > maxEvents) return;
    const event = this.#pending.length < maxEvents ? make() : this.#overflowFault();
    if (event) this.#pending.push({ event: this.#redacted(event), depth: this.#depth + 1 });
    if (this.#depth === 0) this.#dispatchPending();
  };

  /** Whether anybody receives events of a type: those that are frequent are not even thought of otherwise. */
  readonly isObserved = (type: HookName): boolean =>
    this.#subjects.get(type)?.observed === true || this.#listeners.has(type);

  /** The events of these types, in the order in which they are dispatched. */
  eventsOf<Type extends HookName>(types: readonly Type[]): Observable<EventOf<Type>> {
    return new Observable((subscriber) => {
      const observer: EventObserver = subscriber;
      for (const type of new Set(types)) this.#subjects.get(type)?.subscribe(observer);
    });
  }

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

  /** Reports an error of a plugin that has no caller to throw to. */
  fault(plugin: string, hook: HookName | 'dispose', error: unknown): void {
    this.emit('plugin-fault', () => ({ type: 'plugin-fault', plugin, hook, error: reportOf(error) }));
  }

  complete(): void {
    this.#listeners.clear();
    for (const subject of this.#subjects.values()) subject.complete();
  }

  #dispatchPending(): void {
    try {
      // Includes events that are added meanwhile.
      for (const { event, depth } of this.#pending) {
        this.#depth = depth;
        this.#dispatch(event);
      }
    } finally {
      this.#depth = 0;
      this.#pending = [];
    }
  }

  #dispatch(event: ClientEvent): void {
    for (const listener of this.#listeners.get(event.type) ?? []) {
      const report = (error: unknown): void => {
        // A failing hook for reports would cause endless reports.
        if (event.type !== 'plugin-fault') this.fault(listener.plugin, event.type, error);
      };
      this.#currentHook = { plugin: listener.plugin, hook: event.type };
      try {
        const answer = listener.hook(event);
        if (typeof answer === 'object' && answer !== null) Promise.resolve(answer).catch(report);
      } catch (error) {
        report(error);
      }
    }
    this.#currentHook = undefined;
    try {
      this.#subjects.get(event.type)?.next(event);
    } catch {
      // RxJS reports a subscriber's error as unhandled. It throws here only with a deprecated switch.
    }
  }

  /** Replaces the first event that is dropped, if a hook emitted it. */
  #overflowFault(): PluginFaultEvent | undefined {
    const error = new PluginError(
      `Hooks emitted more than ${String(maxEvents)} events in response to one. The rest was dropped: let them emit fewer.`,
    );
    return this.#currentHook && { type: 'plugin-fault', ...this.#currentHook, error: reportOf(error) };
  }

  /** The event, frozen, without secrets in the texts of plugins, APIs and errors. */
  #redacted(event: ClientEvent): ClientEvent {
    const redacted: Record<string, unknown> = { ...event };
    for (const field of textFields) {
      const text = redacted[field];
      // A plugin in JavaScript may pass anything as a text.
      if (text !== undefined && text !== null) redacted[field] = this.#redact(textOf(text));
    }
    if ('error' in event && event.error) redacted['error'] = rewriteReport(event.error, this.#redact);
    // eslint-disable-next-line @typescript-eslint/consistent-type-assertions -- texts have been replaced by texts
    return Object.freeze(redacted) as unknown as ClientEvent;
  }
}

/** What plugins, APIs and errors may have written into an event. */
const textFields = ['route', 'source', 'sink', 'name', 'message', 'key', 'before', 'after'];
