import type { ErrorReport } from '../errorReport.js';
import type { HttpEvent } from '../http/events.js';
import type { LimiterEvent } from '../http/limit/limiterReports.js';
import type { ErrorEvent, SourceEvent } from '../rows/source/sourceEvent.js';

/** A warning: nothing failed. */
export interface WarningEvent {
  readonly type: 'warning';
  readonly message: string;
  /** The name of the plugin that warns. */
  readonly plugin: string;
}

/** Information: nothing is wrong. */
export interface InfoEvent {
  readonly type: 'info';
  readonly message: string;
  /** The name of the plugin that reports it. */
  readonly plugin: string;
}

/** A plugin failed where no caller could be told. Nothing else was affected. */
export interface PluginFaultEvent {
  readonly type: 'plugin-fault';
  /** The plugin's name. */
  readonly plugin: string;
  /** The hook that threw, rejected or emitted too many events, or `dispose`. */
  readonly hook: HookName | 'dispose';
  readonly error: ErrorReport;
}

/** The client is closed: it has no pending requests and will send none. It disposes of its plugins next. */
export interface CloseEvent {
  readonly type: 'close';
}

/** What a client emits. Events are frozen, and contain neither the key nor a reference into the client. */
export type ClientEvent =
  | HttpEvent
  | LimiterEvent
  | SourceEvent
  | ErrorEvent<'request'>
  | WarningEvent
  | InfoEvent
  | PluginFaultEvent
  | CloseEvent;

/** The types of events. */
export type HookName = ClientEvent['type'];

/** The events of one type, or of several. */
export type EventOf<Type extends HookName> = Extract<ClientEvent, { readonly type: Type }>;

/**
 * Functions that receive events, by type. Their results are ignored; what they throw or reject with becomes a
 * `plugin-fault`. A hook only observes: to alter requests, write a {@link Link}.
 *
 * Hooks are called synchronously, and the request or page waits: move slow work into a queue.
 *
 * @example
 * const hooks: Hooks = { retry: ({ route, reason }) => console.error(`${route} is tried again after ${reason}`) };
 */
export type Hooks = {
  readonly [Name in HookName]?: (event: EventOf<Name>) => unknown;
};

/** A missing type of event does not compile. */
const names: Readonly<Record<HookName, true>> = {
  request: true,
  attempt: true,
  response: true,
  retry: true,
  paused: true,
  settled: true,
  limiter: true,
  page: true,
  commit: true,
  change: true,
  due: true,
  sink: true,
  delivery: true,
  outage: true,
  error: true,
  warning: true,
  info: true,
  'plugin-fault': true,
  close: true,
};

export function isHookName(name: string): name is HookName {
  return Object.hasOwn(names, name);
}

/** The first name that is not a type of events: callers in JavaScript may give any. */
export function unknownName(given: readonly string[]): string | undefined {
  return given.find((name) => !isHookName(name));
}

/** The types of events, in the order in which they occur. */
export const hookNames: readonly HookName[] = /* @__PURE__ */ listHookNames();

function listHookNames(): readonly HookName[] {
  return Object.keys(names).filter(isHookName);
}
