import type { DiskCall } from '../faultyFileSystem.js';

/** A call to the disk, as a test sees it. */
export interface SimulatedCall {
  readonly name: DiskCall;
  /** For a call to an open file, the path under which it was opened. */
  readonly path: string;
  /** Counts the calls from 1, since the disk was mounted. */
  readonly n: number;
  /** How many bytes a `write` was given; 0 for any other call. */
  readonly bytes: number;
  /** What is called, and on what, e.g. `write /rows.txt.part` or `rename /a -> /b`. */
  readonly label: string;
}

/** What goes wrong with a call. */
export type SimulatedFault =
  /** It fails with a code of the operating system's, `before` (the default) it has done anything or `after` all was done. */
  | { readonly code: string; readonly when?: 'before' | 'after' }
  /** A write takes so many bytes, and says so. */
  | { readonly short: number }
  /** The machine stops: before the call, after it, or when a write has taken so many bytes. */
  | { readonly cut: 'before' | 'after' | number };

/** Asked at each call. */
export type FaultAt = (call: SimulatedCall) => SimulatedFault | undefined;

type AskedCall = Pick<SimulatedCall, 'name' | 'path'> & { readonly to?: string; readonly bytes?: number };

/** Stands before the disk: notes each call, and lets go wrong what the test wants to. */
export class DiskCalls {
  readonly made: SimulatedCall[] = [];
  readonly #faultAt: FaultAt;
  #isStopped = false;

  constructor(faultAt: FaultAt) {
    this.#faultAt = faultAt;
  }

  /** Nothing takes effect any more. */
  get isStopped(): boolean {
    return this.#isStopped;
  }

  /** `work` is told how many bytes it may write. */
  async make<R>({ name, path, to, bytes = 0 }: AskedCall, work: (maxBytes: number) => R): Promise<R> {
    const label = to === undefined ? `${name} ${path}` : `${name} ${path} -> ${to}`;
    if (this.#isStopped) throw diskError('ECUT', label);
    const call = { name, path, n: this.made.length + 1, bytes, label };
    this.made.push(call);
    const fault = this.#faultAt(call);
    if (!fault) return work(bytes);
    if ('short' in fault) return work(shortened(call, fault.short));
    if ('code' in fault) {
      // A file is closed whatever its system says about it.
      if (fault.when === 'after' || name === 'close') work(bytes);
      throw diskError(fault.code, label);
    }
    try {
      if (fault.cut === 'after') work(bytes);
      else if (fault.cut !== 'before') work(shortened(call, fault.cut));
    } catch {
      // Nobody is left who could be told that the call had failed anyway.
    }
    this.#isStopped = true;
    throw diskError('ECUT', label);
  }
}

export function diskError(code: string, what: string): Error {
  return Object.assign(new Error(`${code}: ${what}`), { code });
}

function shortened({ name, bytes, label }: SimulatedCall, max: number): number {
  if (name !== 'write') throw new Error(`Only a write can end in its middle, and this is ${label}.`);
  return Math.min(bytes, max);
}
