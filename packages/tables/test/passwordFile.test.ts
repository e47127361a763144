import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { temporaryFolder } from '../../../test/kit/temporaryFolder.js';
import { findPassword } from '../src/postgres/passwordFile.js';

const login = { host: 'db.example', port: 5432, database: 'a:b', user: 'me' };

function fileOf(...lines: readonly string[]): string {
  const file = join(temporaryFolder(), 'passwords');
  writeFileSync(file, lines.join('\n'), { mode: 0o600 });
  return file;
}

test.each([
  ['the first line that matches', ['*:*:*:you:1', '*:*:*:me:2', '*:*:*:me:3'], '2'],
  ['escaped characters', [String.raw`db.example:5432:a\:b:me:p\:\\q`], String.raw`p:\q`],
  ['no comment', ['#*:*:*:me:1'], undefined],
  ['no line that is too short', ['*:*:*:me'], undefined],
  ['another port', ['*:5433:*:me:1'], undefined],
  ['lines of Windows', ['*:5432:*:me:1\r', ''], '1'],
])('a file of passwords: %s', async (_, lines, password) => {
  expect(await findPassword(login, fileOf(...lines))).toBe(password);
});

test('a file of passwords has those of sockets under localhost, and may be missing', async () => {
  expect(await findPassword({ ...login, host: '/run/postgresql' }, fileOf('localhost:*:*:*:1'))).toBe('1');
  expect(await findPassword(login, join(temporaryFolder(), 'none'))).toBeUndefined();
});

test.runIf(process.platform !== 'win32')('a file of passwords that others may read is refused', async () => {
  const file = fileOf('*:*:*:*:1');
  chmodSync(file, 0o640);
  await expect(findPassword(login, file)).rejects.toThrow(`Run: chmod 600 ${file}`);
});
