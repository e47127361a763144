/** Gives an unwanted event time to happen. Counts turns, because ms can pass without progress on a busy machine. */
export async function calm(turns = 20): Promise<void> {
  for (let turn = 0; turn < turns; turn += 1) await new Promise((resolve) => setTimeout(resolve, 1));
}

/** Resolves when a condition holds. @throws Error with `what` if it does not within `timeout` ms. */
export async function eventually(condition: () => boolean, what: string, timeout: number): Promise<void> {
  const end = performance.now() + timeout;
  while (!condition()) {
    if (performance.now() > end) throw new Error(`${what} within ${timeout} ms.`);
    await calm(1);
  }
}

/** Settles like the promise. @throws Error with `what` if it does not settle within `timeout` ms. */
export async function inTime<R>(promise: Promise<R>, what: string, timeout: number): Promise<R> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`${what} within ${timeout} ms.`)), timeout);
  });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}
