import { createWriteStream } from 'node:fs';
import { open } from 'node:fs/promises';
import { pipeline } from 'node:stream/promises';
import { setImmediate as turnOfTheLoop } from 'node:timers/promises';
import { createGzip } from 'node:zlib';
import papaparse from 'papaparse';
import { cellsOf, columns, type HoldingsPage, type Job } from './contestant.js';

/** Writes pages, each encoded at once, while the next one arrives; returns the number of rows. */
export async function written({ path, format }: Job, pages: AsyncIterable<HoldingsPage>): Promise<number> {
  let rows = 0;
  async function* texts(): AsyncGenerator<string> {
    if (format.startsWith('csv')) yield `${columns.join(',')}\r\n`;
    for await (const { result } of pages) {
      // The request for the next page has been sent by then.
      await turnOfTheLoop();
      rows += result.length;
      if (format === 'none') continue;
      yield format === 'jsonl'
        ? result.map((row) => `${JSON.stringify(row)}\n`).join('')
        : `${papaparse.unparse(result.map(cellsOf))}\r\n`;
    }
  }
  if (format === 'csv.gz') {
    await pipeline(texts(), createGzip(), createWriteStream(path));
    return rows;
  }
  const file = await open(path, 'w');
  let writing: Promise<unknown> = Promise.resolve();
  for await (const text of texts()) {
    await writing;
    writing = file.write(text);
  }
  await writing;
  await file.close();
  return rows;
}
