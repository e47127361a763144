/** Resolves when requests of this event loop turn are sent: undici waits a turn before it reuses a connection. */
export async function afterRequestsSent(): Promise<void> {
  await nextLoopTurn();
  await nextLoopTurn();
}

/** The timer is looked up on each call, so that tests and simulations can replace it. */
function nextLoopTurn(): Promise<void> {
  return new Promise((resolve) => {
    if ('setImmediate' in globalThis) globalThis.setImmediate(resolve);
    else if ('MessageChannel' in globalThis) sendToSelf(resolve);
    else setTimeout(resolve, 0);
  });
}

/** For browsers, where timers wait up to 4 ms. */
function sendToSelf(onReceived: () => void): void {
  const { port1, port2 } = new MessageChannel();
  port1.onmessage = () => {
    port1.close();
    onReceived();
  };
  port2.postMessage(undefined);
}
