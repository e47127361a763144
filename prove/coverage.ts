// Counts how many of 518 connectors a definition can replace: npm run prove -- coverage
import { countCoverage, readConnectors } from './connectors/countCoverage.js';
import { needs } from './connectors/needs.js';

const { all, sayable, byOptions, counts } = countCoverage(readConnectors());
const share = (count: number): string => `${count} (${((100 * count) / all).toFixed(0)} %)`;
console.log(
  `Of ${all} connectors, a definition can say ${share(sayable)}, ${share(byOptions)} of them without a function.\n`,
);
for (const [need, count] of [...counts].toSorted(([, a], [, b]) => b - a))
  console.log(String(count).padStart(4), (needs[need]?.by ?? '-').padEnd(8), need);
