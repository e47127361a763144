import { readdir, readFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { isPast, type Phase } from './phases.js';

/** The files between two runs. */
export interface Leftover {
  /** The content of the final name: nothing, its content before the export, all rows, or something else. */
  readonly target: 'absent' | 'earlier' | 'complete' | 'wrong';
  /** `finished`: the record of a finished export. */
  readonly checkpoint: 'none' | 'open' | 'sealed' | 'finished';
  readonly hasRows: boolean;
  /** Names next to the target's and the checkpoint's. */
  readonly others: readonly string[];
}

/** Lists what an export to `path` has left. */
export async function lookAt(path: string, whole: Buffer, earlier: Buffer | undefined): Promise<Leftover> {
  const target = await contentOf(path);
  const checkpoint = await contentOf(join(`${path}.sluice`, 'checkpoint'));
  const waiting = await readdir(`${path}.sluice`).catch(() => []);
  const names = await readdir(dirname(path));
  return {
    target: !target ? 'absent' : target.equals(whole) ? 'complete' : earlier?.equals(target) ? 'earlier' : 'wrong',
    checkpoint: !checkpoint ? 'none' : stageOf(checkpoint.toString()),
    hasRows: ((await contentOf(`${path}.part`))?.length ?? 0) > 0 || waiting.some((name) => name.startsWith('rows-')),
    others: [
      ...names.filter((name) => name !== basename(path) && name !== `${basename(path)}.sluice`),
      ...waiting.filter((name) => name !== 'checkpoint'),
    ],
  };
}

/** What is wrong with the leftovers of a kill in `phase`, if anything. */
export function faultAfterKill({ target, checkpoint }: Leftover, phase: Phase): string | undefined {
  if (target === 'wrong') return 'the final name holds something else than all rows';
  if (target === 'complete' && !isPast(phase, 'sealing')) return 'the final name was there too early';
  if (target !== 'complete' && phase === 'clearing away')
    return 'the rows were cleared away before they had their final name';
  if (checkpoint !== 'sealed' && checkpoint !== 'finished' && phase === 'putting in place')
    return 'the checkpoint was gone too early';
  return undefined;
}

/** What is wrong with the leftovers of a finished export, if anything. */
export function faultAtEnd({ target, checkpoint, others }: Leftover): string | undefined {
  if (target !== 'complete')
    return target === 'absent' ? 'there is no file' : 'the bytes are not those of an undisturbed run';
  if (checkpoint !== 'finished') return 'no record says that it is finished';
  return others.length > 0 ? `${others.join(', ')} was left behind` : undefined;
}

function stageOf(checkpoint: string): 'open' | 'sealed' | 'finished' {
  if (checkpoint.includes('"finishedAt":')) return 'finished';
  return checkpoint.includes('"isSealed":true') ? 'sealed' : 'open';
}

async function contentOf(path: string): Promise<Buffer | undefined> {
  return readFile(path).catch(() => undefined);
}
