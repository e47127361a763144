import { inspect } from 'node:util';
import { expect, test } from 'vitest';
import { requestEvent } from '../../src/http/events.js';

const about = { route: 'test.items', request: 1, method: 'GET' } as const;

test('G4 the URL of a request event is made only for who reads it', () => {
  let made = 0;
  const event = requestEvent(about, () => {
    made += 1;
    return 'https://api.example.com/items';
  });
  expect(Object.isFrozen(event)).toBe(true);
  expect(made).toBe(0);
  expect(event.url).toBe('https://api.example.com/items');
  expect(made).toBe(1);
});

test('G4 a request event is copied, compared and written like any object', () => {
  const event = requestEvent(about, () => 'https://api.example.com/items');
  const plain = { type: 'request', ...about, url: 'https://api.example.com/items' };
  expect(event).toEqual(plain);
  expect({ ...event }).toEqual(plain);
  expect(structuredClone(event)).toEqual(plain);
  expect(JSON.parse(JSON.stringify(event))).toEqual(plain);
  expect(Object.keys(event)).toEqual(Object.keys(plain));
  expect(inspect(event)).toBe(inspect(plain));
});
