import type { Moment } from '../crash/failPoint.js';

/** What a process that is to be killed is told, as JSON in its first argument. */
export interface KillOrder {
  /** Of the server. */
  readonly url: string;
  readonly target: string;
  readonly address: string;
  /** The file that its state is beside, and that it writes if it writes one. */
  readonly path: string;
  /** The operation on the disk at which it dies by its own hand, from 1, counted from the moment that it is told to go on. */
  readonly dies?: { readonly at: number; readonly moment: Moment };
  /** Ends after so many polls. */
  readonly polls?: number;
}

/** The folder of the state. */
export function stateBeside(path: string): string {
  return `${path}.sluice`;
}
