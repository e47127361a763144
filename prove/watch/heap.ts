/** The bytes of heap that are in use when all garbage is collected. Needs `--expose-gc`. */
export function heap(): number {
  if (!globalThis.gc) throw new Error('Start it with --expose-gc.');
  // What the first one sets free may hold more.
  globalThis.gc();
  globalThis.gc();
  return process.memoryUsage().heapUsed;
}
