// Holds a state with a lease of so many ms, in a process of its own, and saves a number again and again, which it says.
import { setTimeout as delay } from 'node:timers/promises';
import { postgresState } from '../../src/postgres.js';

const [url = '', lease = ''] = process.argv.slice(2);
const state = postgresState({ url, name: 'job', lease: Number(lease) });
await state.lock(new AbortController().signal);
for (let saved = Number((await state.load('checkpoint')) ?? 0) + 1; ; saved += 1) {
  await state.save('checkpoint', { saved });
  process.send?.(String(saved));
  await delay(10);
}
