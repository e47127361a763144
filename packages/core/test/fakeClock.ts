import { ManualClock } from '@sluice/testing';

/** Time that only moves when a test says so; whoever is called back has done all that it does next by then. */
export class FakeClock extends ManualClock {
  /** @param settle lets whoever was called back do what it does next. Default: until the event loop has gone round. */
  constructor(settle: () => Promise<unknown> = () => new Promise((resolve) => setImmediate(resolve))) {
    super(settle);
  }
}
