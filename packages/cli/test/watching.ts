import { readFileSync } from 'node:fs';
import type { Readable } from 'node:stream';
import type { Change } from '@sluice/core';
import type { EvmStream } from '@sluice/streams';
import type { Sandbox } from '@sluice/sandbox';

export type StreamChange = Change<EvmStream>;

/** The arguments that watch the streams of a sandbox, as fast as it goes. */
export function watchArgs(...more: string[]): string[] {
  return ['streams', 'watch', '--every', '20ms', '--rate', 'unlimited', ...more];
}

/** What an output has said, and a wait for it to say something. */
export function listenTo(output: Readable): { until(pattern: RegExp): Promise<void> } {
  let text = '';
  return {
    until: (pattern) =>
      new Promise((resolve, reject) => {
        const look = (): void => {
          if (!pattern.test(text)) return;
          output.off('data', hear);
          resolve();
        };
        const hear = (data: Buffer): void => {
          text += data.toString();
          look();
        };
        output.on('data', hear);
        output.once('end', () => {
          reject(new Error(`The output ended without ${String(pattern)}:\n${text}`));
        });
        look();
      }),
  };
}

/** Resolves when so many more complete listings of one page were asked for. */
export function polled(sandbox: Sandbox, times: number): Promise<void> {
  const before = sandbox.counts.requests;
  return sandbox.until(() => sandbox.counts.requests >= before + times);
}

export function changesIn(text: string): StreamChange[] {
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as StreamChange);
}

export function changesInFile(path: string): StreamChange[] {
  return changesIn(readFileSync(path, 'utf8'));
}

/** The listing that changes lead to, by id. */
export function folded(changes: readonly StreamChange[]): Record<string, unknown> {
  const rows = new Map<string, unknown>();
  for (const { type, key, after } of changes) {
    if (type === 'removed') rows.delete(key);
    else rows.set(key, after);
  }
  return Object.fromEntries(rows);
}

/** The listing of a sandbox as it is, by id. */
export function listed(sandbox: Sandbox): Record<string, unknown> {
  return Object.fromEntries([...sandbox.streamRows()].map((row) => [row.id, JSON.parse(JSON.stringify(row))]));
}

/** Changes whose `before` is not what the change before it left. */
export function brokenLinks(changes: readonly StreamChange[]): StreamChange[] {
  const known = new Map<string, string>();
  return changes.filter(({ key, before, after }) => {
    const fits = (known.get(key) ?? 'null') === JSON.stringify(before);
    known.set(key, JSON.stringify(after));
    return !fits;
  });
}
