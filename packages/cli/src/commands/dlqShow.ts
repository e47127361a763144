import { resolve } from 'node:path';
import { readDeadLetters } from '@sluice/exporters/webhook';
import { letterTable, type LetterRow } from '../dlq/letterTable.js';
import type { Environment } from '../environment.js';
import { exitCodes } from '../faults/exitCodes.js';
import { formatCount, formatNumber } from '../terminal/formatNumber.js';
import { refuseClosed } from '../terminal/output.js';
import { visibleText } from '../terminal/visibleText.js';

/** Options of `sluice dlq show`. */
export interface DlqShowOptions {
  /** A file of dead letters. */
  readonly file: string;
  readonly format?: 'text' | 'json';
}

/** `sluice dlq show`: what a service did not take, and what it answered. Changes nothing, and may run beside an export or a replay. */
export async function dlqShow(
  { file, format = 'text' }: DlqShowOptions,
  { stdout, folder }: Environment,
): Promise<number> {
  refuseClosed(stdout);
  const path = resolve(folder, file);
  if (format === 'json') {
    for await (const text of letterJson(path)) await stdout.write(text);
    return exitCodes.done;
  }
  const letters: LetterRow[] = [];
  for await (const { letter, isReplayed } of readDeadLetters(path)) {
    const { id, key, attempts, status, answer, at } = letter;
    letters.push({ id, key, attempts, status, answer, at, isReplayed });
  }
  if (letters.length > 0) await stdout.write(letterTable(letters, stdout));
  const replayed = letters.filter(({ isReplayed }) => isReplayed).length;
  const of =
    replayed === 0 ? '' : `: ${formatNumber(replayed)} replayed, ${formatNumber(letters.length - replayed)} left`;
  await stdout.write(`${formatCount(letters.length, 'dead letter')} in ${visibleText(file)}${of}.\n`);
  return exitCodes.done;
}

/** One object, a letter a line, so that a large file passes through. */
async function* letterJson(path: string): AsyncGenerator<string, void, undefined> {
  let [total, replayed] = [0, 0];
  for await (const { letter, line, isReplayed } of readDeadLetters(path)) {
    yield `${total === 0 ? '{"letters":[' : ','}\n${JSON.stringify({ line, isReplayed, ...letter })}`;
    total += 1;
    if (isReplayed) replayed += 1;
  }
  const totals = JSON.stringify({ total, replayed, left: total - replayed });
  yield `${total === 0 ? '{"letters":[' : '\n'}],${totals.slice(1)}\n`;
}
