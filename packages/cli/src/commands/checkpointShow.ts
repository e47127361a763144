import { resolve } from 'node:path';
import { systemClock } from '@sluice/core';
import { readCheckpoint } from '../checkpoint/checkpointReport.js';
import { reportLines } from '../checkpoint/reportLines.js';
import { findState } from '../checkpoint/stateFolder.js';
import { readWatchState } from '../checkpoint/watchReport.js';
import { watchReportLines } from '../checkpoint/watchReportLines.js';
import type { Environment } from '../environment.js';
import { exitCodes } from '../faults/exitCodes.js';
import { visibleText } from '../terminal/visibleText.js';

/** Options of `sluice checkpoint show`. */
export interface CheckpointShowOptions {
  /** A target, its state's folder, or the checkpoint itself. */
  readonly file: string;
  readonly format?: 'text' | 'json';
}

/** `sluice checkpoint show`: explains what an interrupted export or a watch left behind, and changes nothing of it. */
export async function checkpointShow(
  { file, format }: CheckpointShowOptions,
  { stdout, folder }: Environment,
): Promise<number> {
  const place = await findState(resolve(folder, file));
  const watch = await readWatchState(place);
  const report = watch ?? (await readCheckpoint(place));
  if (format === 'json') {
    await stdout.write(`${JSON.stringify(report)}\n`);
    return exitCodes.done;
  }
  const now = systemClock.now();
  const lines = 'log' in report ? watchReportLines(report, now) : reportLines(report, now);
  const { bold } = stdout.colors;
  await stdout.write(lines.map(([label, text]) => `${bold(label.padEnd(8))}  ${visibleText(text)}\n`).join(''));
  return exitCodes.done;
}
