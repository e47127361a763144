import type { Random } from '../../test/kit/random.js';
import { minPages, size, type ExportOrder } from './exportOrder.js';
import type { FailPoint, Moment } from './failPoint.js';
import { isPast, isRepeated, phases, type Phase } from './phases.js';

/** When a run is killed: from outside, at the nth request for a new page, or by itself. */
export type Kill =
  { readonly at: 'request'; readonly nth: number } | { readonly at: 'operation'; readonly point: FailPoint };

type Setting = Pick<ExportOrder, 'format' | 'concurrency' | 'commitEvery'>;

/** The phase that a kill is to hit. */
export function aimOf(kill: Kill): Phase {
  return kill.at === 'operation' ? kill.point.phase : 'fetching';
}

const moments: readonly [Moment, ...Moment[]] = ['before', 'half-way', 'after'];

/**
 * One kill in each of the phases, one run each. Each run writes so many pages that some are left for the runs after it.
 */
export function killsIn(phasesToHit: readonly Phase[], setting: Setting, random: Random): Kill[] {
  const aims = inOrder(phasesToHit, random);
  const runs = aims.filter(isRepeated).length;
  const share = Math.floor((minPages - 2 * setting.commitEvery) / (runs + 1));
  const committing = aims.includes('going on') ? aims.findIndex(isRepeated) : undefined;
  return aims.map((phase, nth) => {
    const afterPages = isRepeated(phase)
      ? random.int(0, share - 1) + (nth === committing ? setting.commitEvery + 1 : 0)
      : 0;
    return phase === 'fetching'
      ? killAtRequest(afterPages, setting)
      : killAtOperation(phase, afterPages, setting, random);
  });
}

/**
 * The order in which one export can be killed in all of them: the phases at its end last, and resuming only after rows.
 */
function inOrder(aims: readonly Phase[], random: Random): Phase[] {
  const of = (phase: Phase): Phase[] => aims.filter((each) => each === phase);
  const [first, ...rest] = random.shuffle(aims.filter(isRepeated));
  const order = [...(first ? [first] : []), ...random.shuffle([...rest, ...of('going on')])];
  // Each run sets up. The first one has most to do then.
  for (const phase of of('setting up')) order.splice(random.int(0, 1) * random.int(0, order.length), 0, phase);
  return [...order, ...phases.filter((phase) => isPast(phase, 'fetching')).flatMap(of)];
}

/**
 * Of the requested pages the walk holds a few, and the sink may hold some of each partition until they fill a block.
 */
function killAtRequest(afterPages: number, { concurrency, format }: Setting): Kill {
  const heldBySink = format.endsWith('.gz') ? concurrency * (size.pagesPerMember - 1) : 0;
  return { at: 'request', nth: Math.max(afterPages, heldBySink + 1) + concurrency + size.prefetch + 1 };
}

function killAtOperation(phase: Phase, afterPages: number, setting: Setting, random: Random): Kill {
  const moment = random.pick(moments);
  return { at: 'operation', point: { phase, afterPages, nth: random.int(1, operationsOf(phase, setting)), moment } };
}

/** The approximate number of operations of a phase, each time. */
function operationsOf(phase: Phase, { concurrency, format }: Setting): number {
  switch (phase) {
    case 'setting up':
      return 14;
    case 'sealing':
    case 'clearing away':
      return 8;
    case 'syncing rows':
      return concurrency > 1 || format.endsWith('.gz') ? 5 : 1;
    case 'saving the checkpoint':
    case 'putting in place':
      return 5;
    default:
      return 3;
  }
}
