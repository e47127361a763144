import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { keyEchoes, uuidKey } from '../../core/test/auth/keyEchoes.js';
import { main } from '../src/program.js';
import { testEnvironment } from './testEnvironment.js';

test.each(Object.entries(keyEchoes))('T2 a key that a server echoes %s does not reach stderr', async (_how, echo) => {
  const server = createServer((_request, response) => response.writeHead(400).end(echo.body));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  const { port }: Partial<AddressInfo> = Object(server.address());
  const environment = testEnvironment({ variables: { SLUICE_API_KEY: uuidKey, SLUICE_DEBUG: '1' } });
  const args = ['streams', 'list', '--no-config', '--streams-url', `http://127.0.0.1:${String(port)}`];
  expect(await main(args, environment)).toBe(1);
  const shown = environment.written.stderr() + environment.written.stdout();
  expect(shown).toContain('[hidden]');
  for (const leak of echo.leaks) expect(shown).not.toContain(leak);
});

test('a key that is too short is refused in one sentence, before anything is sent', async () => {
  const environment = testEnvironment({ variables: { SLUICE_API_KEY: 'Qx7' } });
  const args = ['streams', 'list', '--no-config', '--streams-url', 'http://127.0.0.1:9'];
  expect(await main(args, environment)).toBe(2);
  expect(environment.written.stderr()).toMatch(/^sluice: The API key has fewer than 8 characters, [^\n]*\n$/);
});
