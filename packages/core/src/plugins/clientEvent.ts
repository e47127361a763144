import type { ErrorReport } from '../errorReport.js';
import type { HttpEvent } from '../http/events.js';
import type { ErrorEvent, SourceEvent } from '../source/sourceEvent.js';

/** A warning: nothing failed. */
export interface WarningEvent {
  readonly type: 'warning';
  readonly message: string;
  /** The name of the plugin that says so. */
  readonly plugin: string;
}

/** Information: nothing is wrong. */
export interface InfoEvent {
  readonly type: 'info';
  readonly message: string;
  /** The name of the plugin that says so. */
  readonly plugin: string;
}

/** A plugin failed where nobody waits for it. Nothing else was affected. */
export interface PluginFaultEvent {
  readonly type: 'plugin-fault';
  /** Its name. */
  readonly plugin: string;
  /** The hook that threw, rejected, or answered with too many events, or `dispose`. */
  readonly hook: HookName | 'dispose';
  readonly error: ErrorReport;
}

/** The client is closed: no request is under way any more and none will be. Its plugins are disposed of next. */
export interface CloseEvent {
  readonly type: 'close';
}

/** What a client tells those who watch it. Events are frozen, and hold neither the key nor anything that leads back into the client. */
export type ClientEvent =
  HttpEvent | SourceEvent | ErrorEvent<'request'> | WarningEvent | InfoEvent | PluginFaultEvent | CloseEvent;

/** What a hook may be for: the types of events. */
export type HookName = ClientEvent['type'];

/**
 * Functions that are told of events, by the event's type. What they return is ignored, and what they throw, or reject with, becomes a
 * `plugin-fault`: a hook observes, and whoever wants to alter requests writes a {@link Link}.
 *
 * They run at once, while the request or the page waits: what takes long belongs behind a queue.
 *
 * @example
 * const hooks: Hooks = { retry: ({ route, reason }) => console.error(`${route} is tried again after ${reason}`) };
 */
export type Hooks = {
  readonly [Name in HookName]?: (event: Extract<ClientEvent, { readonly type: Name }>) => unknown;
};

/** All there are. A type of event that is missing here does not compile. */
const names: Readonly<Record<HookName, true>> = {
  request: true,
  attempt: true,
  response: true,
  retry: true,
  paused: true,
  settled: true,
  page: true,
  commit: true,
  error: true,
  warning: true,
  info: true,
  'plugin-fault': true,
  close: true,
};

export function isHookName(name: string): name is HookName {
  return Object.hasOwn(names, name);
}

/** The types of events, in the order in which they come about. */
export const hookNames: readonly HookName[] = Object.keys(names).filter(isHookName);
