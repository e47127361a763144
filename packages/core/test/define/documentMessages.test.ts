import { expect, test } from 'vitest';
import { documentMessages } from '../../src/define/responses/documentMessages.js';
import { byCursor, listing } from '../../src/define/index.js';
import { openListing, serve } from './servedApi.js';

test.each([
  ['Slack', { ok: false, error: 'missing_scope', needed: 'users:read' }, 'missing_scope'],
  ['Kraken', { error: ['EGeneral:Invalid arguments'], result: {} }, 'EGeneral:Invalid arguments'],
  ['Etherscan', { status: '0', message: 'NOTOK', result: 'Max rate limit reached' }, 'NOTOK'],
  ['Marketo', { success: false, errors: [{ code: '606', message: 'Max rate limit' }] }, '606, Max rate limit'],
  ['an error within meta', { meta: { error: { type: 'quota', message: 'none left' } } }, 'quota, none left'],
  ['MediaWiki', { error: { code: 'badtoken', info: 'Invalid token' } }, 'badtoken, Invalid token'],
  ['Tumblr', { meta: { status: 401, msg: 'Unauthorized' }, response: [] }, 'Unauthorized'],
  ['a row', { id: 1, title: 'private', description: 'private', author: { message: 'private' } }, ''],
  ['a list', [{ error: 'private' }], ''],
  ['rows elsewhere', { items: [{ error: 'private' }] }, ''],
])('R11 what a document without rows says: %s', (_api, document, said) => {
  expect(documentMessages(document)).toBe(said);
});

const users = listing({
  path: '/users.list',
  paging: byCursor({ param: 'cursor', at: 'next?' }),
  rows: 'members',
  columns: ['id'],
});

test('R11 a success without rows quotes what the API says, once and redacted', async () => {
  const { baseUrl, asked } = await serve(() => ({ body: { ok: false, error: 'the key test-key-1 lacks a scope' } }));
  const walk = async (): Promise<void> => {
    for await (const row of openListing(users, { baseUrl })()) expect(row).toBeUndefined();
  };
  await expect(walk()).rejects.toMatchObject({
    code: 'decode',
    message: expect.stringMatching(
      /at members: there is no such field:.* The document says: "the key \[hidden\] lacks a scope"\.$/,
    ),
  });
  expect(asked).toHaveLength(1);
});

test('R11 what a document says is quoted from its beginning', () => {
  const error = 'x'.repeat(1_000);
  expect(() => users.read({ body: { error } })).toThrow(`The document says: "${'x'.repeat(200)}…".`);
});
