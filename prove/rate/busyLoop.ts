// Keeps a processor busy until it is killed, or its parent is gone.
import { setImmediate } from 'node:timers/promises';

while (process.connected) {
  for (const end = performance.now() + 1_000; performance.now() < end;);
  await setImmediate();
}
