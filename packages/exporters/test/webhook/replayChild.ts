// Replays the dead letters in the file that its first argument names to the address in its second, and says what came of it.
import { HttpError } from '@sluice/core';
import { replayDeadLetters } from './deadLetterSamples.js';

const [path = '', url = ''] = process.argv.slice(2);
const report = await replayDeadLetters(path, {
  deliveries: 4,
  send: async ({ id, body, signal }) => {
    const response = await fetch(url, { method: 'POST', body, signal, headers: { 'webhook-id': id } });
    if (!response.ok) throw new HttpError('refused', { status: response.status, excerpt: '' });
  },
});
process.send?.(JSON.stringify(report));
