import { LockError, SinkError } from '@sluice/core';
import { expect, test } from 'vitest';
import { postgresDatabase } from '../src/postgres/database.js';

const { findOutage } = postgresDatabase({ url: 'postgres://me@db.example.com/wallets' }).database;
const failedWith = (code: string | undefined) => new SinkError('It said hunter22.', { details: { code } });

test.each<[code: string | undefined, atFirst: string | undefined, later: string | undefined]>([
  ['ECONNREFUSED', 'connection refused', 'connection refused'],
  ['ENOTFOUND', 'unknown host', 'unknown host'],
  ['ETIMEDOUT', 'connection timed out', 'connection timed out'],
  ['ECONNRESET', 'connection reset', 'connection reset'],
  ['EHOSTUNREACH', 'no connection', 'no connection'],
  ['ENOENT', 'no connection', 'no connection'],
  ['EACCES', undefined, undefined],
  ['CERT_HAS_EXPIRED', undefined, undefined],
  ['08006', 'connection lost', 'connection lost'],
  ['57P01', 'server shut down', 'server shut down'],
  ['57P03', 'server not ready', 'server not ready'],
  ['53300', 'too many connections', 'too many connections'],
  ['53100', 'disk of the server full', 'disk of the server full'],
  ['53200', 'server out of resources', 'server out of resources'],
  ['55P03', 'locked by another transaction', 'locked by another transaction'],
  ['40P01', 'conflict with another transaction', 'conflict with another transaction'],
  ['25006', undefined, 'server is read-only'],
  ['28P01', undefined, 'user or password refused'],
  ['3D000', undefined, 'database not there'],
  ['42501', undefined, undefined],
  ['42P01', undefined, undefined],
  ['22003', undefined, undefined],
  ['23505', undefined, undefined],
  ['57014', undefined, undefined],
  [undefined, undefined, undefined],
])('D2 PostgreSQL that fails with %s is waited for at first as "%s", and later as "%s"', (code, atFirst, later) => {
  expect([findOutage(failedWith(code), false)?.cause, findOutage(failedWith(code), true)?.cause]).toEqual([
    atFirst,
    later,
  ]);
});

test('D8 a run that has the table is never for the database to wait for', () => {
  const locked = new LockError('The table is being written.');
  expect(findOutage(locked, false)).toBeUndefined();
  expect(findOutage(locked, true)).toBeUndefined();
  expect(findOutage(new TypeError('connection'), true)).toBeUndefined();
});
