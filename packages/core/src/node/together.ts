/** As `Promise.all`, but where one fails the others are waited for: whoever hears of it may close what they are busy with. */
export async function together<T extends readonly Promise<unknown>[]>(
  tasks: readonly [...T],
): Promise<{ -readonly [K in keyof T]: Awaited<T[K]> }> {
  await Promise.allSettled(tasks);
  return Promise.all(tasks);
}
