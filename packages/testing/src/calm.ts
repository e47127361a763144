/** Gives an unwanted event time to happen. Counts turns, because ms can pass without progress on a busy machine. */
export async function calm(turns = 20): Promise<void> {
  for (let turn = 0; turn < turns; turn += 1) await new Promise((resolve) => setTimeout(resolve, 1));
}
