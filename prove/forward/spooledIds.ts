import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { stateFolder } from './forwardOrder.js';

/** The ids of all records in a spool: these must arrive. The last line may be torn. A missing spool contains none. */
export async function spooledIds(folder: string): Promise<string[]> {
  const log = await readFile(join(folder, stateFolder, 'spool.log'), 'utf8').catch(() => '');
  return log.split('\n').slice(1, -1).flatMap(idsIn);
}

function idsIn(line: string): string[] {
  try {
    const { records }: { records: [string][] } = JSON.parse(line.slice(line.indexOf(' ') + 1));
    return records.map(([id]) => id);
  } catch {
    return [];
  }
}
