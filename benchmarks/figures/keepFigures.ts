import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import type { Figure } from './figure.js';

/** Figures as stored in a file. */
export interface KeptFigures {
  readonly at: string;
  readonly machine: { readonly node: string; readonly cpu: string | undefined; readonly cores: number };
  readonly figures: readonly Figure[];
}

export function keptFigures(path: string): readonly Figure[] {
  if (!existsSync(path)) return [];
  const { figures }: KeptFigures = JSON.parse(readFileSync(path, 'utf8'));
  return figures;
}

/** Writes figures to a file. Figures of other benchmarks in it stay. */
export function keepFigures(path: string, figures: readonly Figure[]): void {
  const isOf = (one: Figure) => (other: Figure) => one.work === other.work && one.against === other.against;
  const others = keptFigures(path).filter((old) => !figures.some(isOf(old)));
  const kept: KeptFigures = {
    at: new Date().toISOString(),
    machine: { node: process.version, cpu: cpus()[0]?.model, cores: cpus().length },
    figures: [...others, ...figures],
  };
  writeFileSync(path, `${JSON.stringify(kept, null, 2)}\n`);
}
