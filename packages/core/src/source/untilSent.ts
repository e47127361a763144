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
    inNextTurn(resolve);
  });
}

/** Looked up once: where a test replaces timers by its own, a walk goes on. */
const inNextTurn: (onTurn: () => void) => void =
  'setImmediate' in globalThis ? globalThis.setImmediate : 'MessageChannel' in globalThis ? byMessage : byTimer();

/** For what is neither Node.js nor a browser. */
function byTimer(): (onTurn: () => void) => void {
  const { setTimeout } = globalThis;
  return (onTurn) => void setTimeout(onTurn, 0);
}

/** A message to itself, for browsers: a timer waits for up to 4 ms there. */
function byMessage(onTurn: () => void): void {
  const { port1, port2 } = new MessageChannel();
  port1.onmessage = () => {
    port1.close();
    onTurn();
  };
  port2.postMessage(undefined);
}
