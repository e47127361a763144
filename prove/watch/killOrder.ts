import type { Moment } from '../crash/failPoint.js';

/** The settings of a process that will be killed, as JSON in its first argument. */
export interface KillOrder {
  /** Of the server. */
  readonly url: string;
  readonly target: string;
  readonly address: string;
  /** The file next to its state; the target if that is a file. */
  readonly path: string;
  /** The operation on the disk at which it kills itself, from 1, counted from the message to start. */
  readonly dies?: { readonly at: number; readonly moment: Moment };
  /** Stops after this many polls. */
  readonly polls?: number;
}

/** The folder of the state. */
export function stateBeside(path: string): string {
  return `${path}.sluice`;
}
