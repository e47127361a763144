/** The used bytes of heap after garbage collection. Needs `--expose-gc`. */
export function heap(): number {
  if (!globalThis.gc) throw new Error('Start it with --expose-gc.');
  // The first collection may release objects that retain others.
  globalThis.gc();
  globalThis.gc();
  return process.memoryUsage().heapUsed;
}
