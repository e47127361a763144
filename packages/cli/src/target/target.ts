import type { Client, Sink } from '@sluice/core';
import type { Forwarding } from './deliveries.js';

/** What a target is: each kind can do something that the others can't. */
export type TargetKind = 'file' | 'stdout' | 'webhook' | 'sink';

/** Where rows, or changes, go. */
export interface Target<T> {
  readonly kind: TargetKind;
  /** What people call it. */
  readonly name: string;
  readonly format: string;
  /** Makes its sink. One of a plugin's can't be made before the plugin is there. */
  readonly open: (client: Pick<Client, 'sinks'>) => Promise<Sink<T>>;
  /** The folder of its state, unless told otherwise; absent where nothing can be resumed. */
  readonly state?: string;
  /** What whoever has named it should know, also where only faults are wanted: it may not be what was meant. */
  readonly warning?: string;
  /** Of a webhook only. */
  readonly forwarding?: Forwarding;
}
