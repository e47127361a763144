import { SinkError } from '../../../src/index.js';
import type { Recording } from '../sink/recordingSink.js';

/** An export that ends at a page, if it has so many: what it had in memory is gone. Returns whether it did. */
export async function killedAtPage<T>(
  sink: Recording<T>,
  pages: number,
  run: () => Promise<unknown>,
): Promise<boolean> {
  const kill = new SinkError('killed');
  let written = 0;
  sink.beforeWrite = () => {
    written += 1;
    if (written >= pages) throw kill;
  };
  const outcome: unknown = await run().catch((error: unknown) => error);
  sink.beforeWrite = () => undefined;
  if (outcome instanceof Error && outcome !== kill) throw outcome;
  return outcome === kill;
}
