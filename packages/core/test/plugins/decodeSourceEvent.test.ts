import { expect, test } from 'vitest';
import { decodeSourceEvent } from '../../src/plugins/decodeSourceEvent.js';

const delivery = { type: 'delivery', source: 'a.rows', sink: 'webhook', waiting: 3 };

test.each([
  { ...delivery, step: 'queued' },
  { ...delivery, step: 'accepted', records: 20, status: 200 },
])('an event of a source keeps what it says: %j', (event) => {
  expect(decodeSourceEvent(event)).toEqual(event);
});

test.each([
  { ...delivery, step: 'lost' },
  { ...delivery, step: 'accepted', records: 'many' },
  { ...delivery, step: 'accepted', waiting: -1 },
])('%j is not an event', (value) => {
  expect(decodeSourceEvent(value)).toBeUndefined();
});
