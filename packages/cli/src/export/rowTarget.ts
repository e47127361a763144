import type { Sink } from '@sluice/core';
import type { Forwarding } from '../forward/forwarding.js';

/** Where rows go: into a file, to stdout, or to an endpoint. */
export interface RowTarget<T> {
  readonly sink: Sink<T>;
  /** What people call it. */
  readonly name: string;
  readonly format: string;
  /** The folder to keep state in, as people know it; absent where nothing can be gone on with. */
  readonly state?: string;
  /** Of an endpoint only. */
  readonly forwarding?: Forwarding;
}
