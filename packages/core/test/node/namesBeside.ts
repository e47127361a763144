import { existsSync, readdirSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import { expect } from 'vitest';

/** What lies in the folder of a finished export, its own record left out: that is all that its state may hold. */
export function namesBeside(path: string): string[] {
  const state = `${path}.sluice`;
  if (existsSync(state)) expect(readdirSync(state)).toEqual(['checkpoint']);
  return readdirSync(dirname(path)).filter((name) => name !== basename(state));
}
