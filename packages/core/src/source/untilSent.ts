/**
 * Resolves when the requests that were begun in this turn of the event loop have left. That is not the next turn but the one after it: undici
 * lets one pass before it uses a connection again, to see whether something came over it that nobody asked for.
 */
export async function untilSent(): Promise<void> {
  await turnOfTheLoop();
  await turnOfTheLoop();
}

function turnOfTheLoop(): Promise<void> {
  return new Promise((resolve) => {
    if ('setImmediate' in globalThis) globalThis.setImmediate(resolve);
    else inBrowser(resolve);
  });
}

/** By a message to itself, since a timer waits for up to 4 ms there. */
function inBrowser(onTurn: () => void): void {
  const { port1, port2 } = new MessageChannel();
  port1.onmessage = () => {
    port1.close();
    onTurn();
  };
  port2.postMessage(undefined);
}
