// One forward in a process of its own: `node child.ts sluice|loop JSON`, and what it took.
import type { ForwardWork } from './rows.js';

/** What a forward took. */
export interface ForwardEffort {
  /** In ms; without the imports. */
  readonly took: number;
  readonly cpu: number;
  /** Peak, in bytes. */
  readonly rss: number;
}

const [name, json = ''] = process.argv.slice(2);
const work: ForwardWork = JSON.parse(json);
const send = name === 'sluice' ? (await import('./sluice.js')).forward : (await import('./loop.js')).loop;
const began = performance.now();
const before = process.cpuUsage();
await send(work);
const { user, system } = process.cpuUsage(before);
process.send?.({
  took: performance.now() - began,
  cpu: (user + system) / 1000,
  rss: process.resourceUsage().maxRSS * 1024,
} satisfies ForwardEffort);
