import type { Fault } from '@sluice/sandbox';
import { Random } from '../../test/kit/random.js';

const share = 0.05;

/** How the sandbox fails a request: one in 20, by seed, request and attempt. */
export function faultAt(seed: string, query: string, attempt: number): Fault | undefined {
  const random = new Random(`${seed} ${query} attempt ${attempt}`);
  if (!random.chance(share)) return undefined;
  return random.pick<Fault>([
    { kind: 'status', status: 500 },
    { kind: 'status', status: 502 },
    { kind: 'status', status: 503 },
    { kind: 'status', status: 504 },
    { kind: 'reset' },
    { kind: 'cut-body' },
  ]);
}
