/** As `Promise.all`, but waits for all before it throws: the caller may close what the others still use. */
export async function settleAll<T extends readonly Promise<unknown>[]>(
  tasks: readonly [...T],
): Promise<{ -readonly [K in keyof T]: Awaited<T[K]> }> {
  await Promise.allSettled(tasks);
  return Promise.all(tasks);
}
