/**
 * Lets go on what is under way: what must not happen has had its chance then. It counts turns of the event loop, since a machine that is
 * busy may let a time pass in which nothing was done.
 */
export async function calm(turns = 20): Promise<void> {
  for (let turn = 0; turn < turns; turn += 1) await new Promise((resolve) => setTimeout(resolve, 1));
}

/** Resolves once a condition holds. @throws Error saying `what` if it does not within `timeout` ms. */
export async function eventually(condition: () => boolean, what: string, timeout: number): Promise<void> {
  const end = performance.now() + timeout;
  while (!condition()) {
    if (performance.now() > end) throw new Error(`${what} within ${timeout} ms.`);
    await calm(1);
  }
}

/** Settles as the promise does. @throws Error saying `what` if it does not within `timeout` ms. */
export async function inTime<R>(promise: Promise<R>, what: string, timeout: number): Promise<R> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`${what} within ${timeout} ms.`)), timeout);
  });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}
