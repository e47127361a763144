// The cost of comparing a walk with the accepted rows, and of parsing the same pages, page by page: `node
// comparisonCost.ts ROWS POLLS`.
import { applyDelta } from '../../packages/core/src/rows/watch/acceptedSnapshot.js';
import { fieldsBetween } from '../../packages/core/src/rows/watch/comparisonOptions.js';
import { SnapshotRows } from '../../packages/core/src/rows/watch/snapshotRows.js';
import { judgeRemovals } from '../../packages/core/src/rows/watch/removals.js';
import { WalkComparison } from '../../packages/core/src/rows/watch/walkComparison.js';
import type { EvmStream } from '../../packages/streams/src/index.js';
import { cpu, spreadOf, type Spread } from './cpu.js';
import { projections, type Projection } from './projections.js';
import { StreamPages } from './streamPages.js';

/** In ms of CPU per poll. */
export interface ComparisonCost {
  readonly projection: Projection;
  readonly comparing: Spread;
  readonly parsing: Spread;
  readonly bytesPerRow: number;
}

/** The first polls are slower, until the code is compiled. */
const warmUp = 4;
const rules = { confirmations: 2, holdAbove: 0.5, holdWalks: 3, holdFor: 60_000, acceptRemovals: false };

const [rows, polls] = process.argv.slice(2).map(Number);
const pages = await StreamPages.of(rows ?? 0);
const key = ({ id }: EvmStream): string => String(id);
const parsed = (text: string): EvmStream[] => JSON.parse(text);

const costs = Object.entries(projections).map(([name, options]) => costOf(name as Projection, options));
console.log(JSON.stringify(costs));

function costOf(projection: Projection, options: { readonly project?: readonly string[] }): ComparisonCost {
  const fields = fieldsBetween<EvmStream>(options);
  const snapshot = new SnapshotRows<EvmStream>();
  for (const text of pages.texts) for (const row of parsed(text)) snapshot.set(key(row), row);
  const costs: { comparing: number; parsing: number }[] = [];
  for (let poll = 1; poll <= (polls ?? 0) + warmUp; poll += 1) {
    pages.change();
    const cost = { comparing: 0, parsing: 0 };
    const walk = new WalkComparison(snapshot, fields);
    for (const text of pages.texts) {
      const began = cpu();
      const page = parsed(text);
      const arrived = cpu();
      for (const row of page) walk.add(key(row), row);
      cost.comparing += cpu() - arrived;
      cost.parsing += arrived - began;
    }
    const ended = cpu();
    const { differences, missing } = judgeRemovals(walk.end(), new Map(), { rules, now: 0 });
    cost.comparing += cpu() - ended;
    applyDelta({ rows: snapshot }, { generation: poll, observedAt: '', differences, missing });
    costs.push(cost);
  }
  const counted = costs.slice(warmUp);
  return {
    projection,
    comparing: spreadOf(counted.map(({ comparing }) => comparing)),
    parsing: spreadOf(counted.map(({ parsing }) => parsing)),
    bytesPerRow: pages.bytesPerRow,
  };
}
