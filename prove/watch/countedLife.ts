import type { Moment } from '../crash/failPoint.js';
import { Life } from '../crash/life.js';
import type { KillOrder } from './killOrder.js';

/** The life of a process that dies at a given operation on the disk, whatever it is. */
export class CountedLife extends Life {
  readonly #dies: KillOrder['dies'];
  #operations = 0;

  constructor(dies: KillOrder['dies']) {
    super(undefined);
    this.#dies = dies;
  }

  override momentOf(): Moment | undefined {
    this.#operations += 1;
    return this.#operations === this.#dies?.at ? this.#dies.moment : undefined;
  }
}
