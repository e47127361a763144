import type { Client, Sink } from '@sluice/core';
import type { Forwarding } from './deliveries.js';

export type TargetKind = 'file' | 'stdout' | 'webhook' | 'sink' | 'table';

/** With an article, for sentences. */
export const targetNouns: Readonly<Record<TargetKind, string>> = {
  file: 'the file',
  stdout: 'the reader of stdout',
  webhook: 'the webhook',
  sink: 'the sink',
  table: 'the table',
};

/** Where rows or changes go. */
export interface Target<T> {
  readonly kind: TargetKind;
  /** For messages. */
  readonly name: string;
  readonly format: string;
  /** Creates the sink; a plugin's sink needs the client. */
  readonly open: (client: Pick<Client, 'sinks'>) => Promise<Sink<T>>;
  /** The default folder of its state; absent if it can't be resumed. */
  readonly state?: string;
  /** For a webhook only. */
  readonly forwarding?: Forwarding;
}
