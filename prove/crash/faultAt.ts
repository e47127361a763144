import type { Fault } from '@sluice/sandbox';
import { seeded } from './seeded.js';

const share = 0.05;

/** How the sandbox fails a request: one in 20, by seed, request and attempt. */
export function faultAt(seed: string, query: string, attempt: number): Fault | undefined {
  const random = seeded(`${seed} ${query} attempt ${attempt}`);
  if (random(1_000_000) >= share * 1_000_000) return undefined;
  const faults: readonly Fault[] = [
    { kind: 'status', status: 500 },
    { kind: 'status', status: 502 },
    { kind: 'status', status: 503 },
    { kind: 'status', status: 504 },
    { kind: 'reset' },
    { kind: 'cut-body' },
  ];
  return faults[random(faults.length)];
}
