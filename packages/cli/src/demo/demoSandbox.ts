import { startSandbox, type Sandbox } from '@sluice/sandbox';

/** Holdings of the demo: enough for a bar to be seen, few enough not to wait for it. */
export const demoHoldings = 8000;
/** Requests a second that the demo's API allows. */
export const demoRate = 25;

/** Ms after which one of its streams goes to another status. */
const statusEvery = 700;

/** The demo's APIs: the same rows and much the same trouble every time. */
export function startDemoSandbox(): Promise<Sandbox> {
  return startSandbox({
    seed: 17,
    holdings: demoHoldings,
    rateLimit: { requests: demoRate, per: 1000 },
    statusEvery,
    latency: [5, 30],
    faults: { serverError: 0.04, reset: 0.02, cutBody: 0.02 },
  });
}
