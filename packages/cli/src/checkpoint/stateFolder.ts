import { stat } from 'node:fs/promises';
import { basename, dirname, resolve } from 'node:path';

/** Where an export keeps its state, and what it writes. */
export interface StatePlace {
  readonly folder: string;
  /** Absent where the folder does not say it: a program may keep it anywhere. */
  readonly target?: string;
}

/**
 * The state that a path stands for: a target (or its `.part`), the folder of its state, or the checkpoint in it.
 *
 * @example await findState('/data/holdings.csv') // { folder: '/data/holdings.csv.sluice', target: '/data/holdings.csv' }
 */
export async function findState(path: string): Promise<StatePlace> {
  const whole = resolve(path);
  const found = await stat(whole).catch(() => undefined);
  if (found?.isDirectory() || whole.endsWith('.sluice')) return stateIn(whole);
  const parent = dirname(whole);
  if (basename(whole) === 'checkpoint' && (found !== undefined || parent.endsWith('.sluice'))) return stateIn(parent);
  const target = whole.replace(/\.part$/, '');
  return { folder: `${target}.sluice`, target };
}

function stateIn(folder: string): StatePlace {
  return { folder, ...(folder.endsWith('.sluice') && { target: folder.slice(0, -'.sluice'.length) }) };
}
