import type { Client, Sink } from '@sluice/core';
import type { Forwarding } from './deliveries.js';

export type TargetKind = 'file' | 'stdout' | 'webhook' | 'sink' | 'table';

/** How sentences speak of a target. */
interface TargetWords {
  /** With an article. */
  readonly noun: string;
  /** What its rows are once all of them are committed. */
  readonly done: string;
  /** What is left to do then. */
  readonly last: string;
}

export const targetWords: Readonly<Record<TargetKind, TargetWords>> = {
  file: { noun: 'the file', done: 'written', last: 'moving the file into place' },
  stdout: { noun: 'the reader of stdout', done: 'written', last: 'closing it' },
  webhook: { noun: 'the webhook', done: 'delivered', last: 'cleaning up' },
  sink: { noun: 'the sink', done: 'written', last: 'closing the target' },
  table: { noun: 'the table', done: 'written', last: 'making them visible' },
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

/** stdout, which can't be truncated, so it has no state. */
export function stdoutTarget<T>(format: string, sink: Sink<T>): Target<T> {
  return { kind: 'stdout', name: 'stdout', format, open: () => Promise.resolve(sink) };
}

/** A file, whose state is beside it. */
export function fileTarget<T>(name: string, format: string, sink: Sink<T>): Target<T> {
  return { kind: 'file', name, format, open: () => Promise.resolve(sink), state: `${name}.sluice` };
}
