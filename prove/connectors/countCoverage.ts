import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import { needs } from './needs.js';

/** How many connectors a definition can replace. */
export interface Coverage {
  readonly all: number;
  /** Of these, a definition can say all that they do. */
  readonly sayable: number;
  /** Of these, without a function. */
  readonly byOptions: number;
  /** Connectors by need. */
  readonly counts: ReadonlyMap<string, number>;
}

export interface Connector {
  readonly name: string;
  readonly needs: readonly string[];
}

/** The connectors of `connectors.csv`. */
export function readConnectors(): readonly Connector[] {
  const lines = readFileSync(join(import.meta.dirname, 'connectors.csv'), 'utf8')
    .trim()
    .split('\n')
    .slice(1);
  return lines.map((line) => {
    const [name = '', listed = ''] = line.split(',');
    return { name, needs: listed === '' ? [] : listed.split('; ') };
  });
}

export const isSayable = ({ needs: its }: Connector): boolean => its.every((need) => needs[need] !== undefined);

export function countCoverage(connectors: readonly Connector[]): Coverage {
  const sayable = connectors.filter(isSayable);
  const counts = new Map<string, number>();
  for (const need of connectors.flatMap((connector) => connector.needs)) counts.set(need, (counts.get(need) ?? 0) + 1);
  return {
    all: connectors.length,
    sayable: sayable.length,
    byOptions: sayable.filter((each) => each.needs.every((need) => needs[need]?.by === 'options')).length,
    counts,
  };
}
