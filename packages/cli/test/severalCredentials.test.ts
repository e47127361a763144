import { createHmac } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { configFolder, run as runIn } from './config/configFolder.js';

const secrets = { DOGS_API: 'canary-api-0011', DOGS_APP: 'canary-app-9922', DOGS_SIGN: 'canary-sign-4411' };
const login = { DOGS_USER: 'canary-user-8833', DOGS_PASSWORD: 'canary-pass-7766' };
const token = 'canary-token-5544';
const hmac = (text: string): string => createHmac('sha256', secrets.DOGS_SIGN).update(text).digest('hex');

let server: Server;
let signatures: string[] = [];
let isRefusing = false;

beforeAll(async () => {
  server = createServer((request, response) => {
    const parts: string[] = [];
    request.setEncoding('utf8').on('data', (part: string) => parts.push(part));
    request.on('end', () => {
      const answer = (status: number, document: unknown): void => {
        response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(document));
      };
      const { headers, url = '' } = request;
      if (url === '/session') {
        const isRight = parts.join('') === JSON.stringify({ user: login.DOGS_USER, password: login.DOGS_PASSWORD });
        return isRight ? answer(200, { id: token }) : answer(401, { sent: parts.join('') });
      }
      const signature = String(headers['x-sign']);
      signatures.push(signature);
      const isRight =
        headers['dd-api-key'] === secrets.DOGS_API &&
        headers['dd-app-key'] === secrets.DOGS_APP &&
        headers.authorization === `Bearer ${token}` &&
        signature === hmac(`${String(headers['x-time'])}${url}`);
      if (isRefusing || !isRight) return answer(403, { sent: headers });
      return answer(200, { items: [{ id: 1 }], sent: headers });
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
});
afterAll(() => void server.close());

const baseUrl = (): string => `http://127.0.0.1:${String((server.address() as AddressInfo).port)}`;

const folderOf = (): string =>
  configFolder({
    'sluice.config.mjs': `
      import { createHmac } from 'node:crypto';
      import { bearer, bodyKey, byLink, defineApi, header, listing, login, sign } from '@sluice/core/define';
      const dogs = defineApi({
        name: 'dogs',
        auth: [
          header('DD-API-KEY', { env: 'DOGS_API' }),
          header('DD-APP-KEY', { env: 'DOGS_APP' }),
          bearer(login({
            request: { path: '/session', auth: [bodyKey('user', { env: 'DOGS_USER' }), bodyKey('password', { env: 'DOGS_PASSWORD' })] },
            token: 'id',
          })),
          sign({ env: 'DOGS_SIGN' }, ({ url }, secret) => {
            const time = String(Date.now());
            const { pathname, search } = new URL(url);
            return { headers: { 'X-Time': time, 'X-Sign': createHmac('sha256', secret).update(time + pathname + search).digest('hex') } };
          }),
        ],
        sources: { rows: listing({ path: '/rows', rows: 'items', columns: ['id'], paging: byLink(), key: ({ id }) => String(id) }) },
      });
      export default { plugins: [dogs({ baseUrl: '${baseUrl()}' })] };`,
  });

/** The text of all files below a folder, but for packages. */
function contentOf(folder: string): string {
  const entries = readdirSync(folder, { withFileTypes: true }).filter(({ name }) => name !== 'node_modules');
  return entries
    .map((entry) =>
      entry.isDirectory() ? contentOf(join(folder, entry.name)) : readFileSync(join(folder, entry.name), 'utf8'),
    )
    .join('\n');
}

describe('R8 an API with several credentials on the command line', () => {
  test('names the variable of each, and which are not set', async () => {
    const { stdout } = await runIn(['sources', 'dogs'], folderOf(), { DOGS_API: secrets.DOGS_API });
    expect(stdout).toContain(
      [
        'a secret from DOGS_API, in the header DD-API-KEY',
        'a secret from DOGS_APP, in the header DD-APP-KEY',
        'a bearer token of a login at /session, for a secret from DOGS_USER and DOGS_PASSWORD',
        'a signature with a secret from DOGS_SIGN (not set: DOGS_APP, DOGS_USER, DOGS_PASSWORD, DOGS_SIGN)',
      ].join('; '),
    );
    const doctor = await runIn(['doctor'], folderOf(), { ...login, DOGS_API: secrets.DOGS_API });
    expect(doctor.code).toBe(1);
    expect(doctor.stdout).toMatch(/^fail +dogs +its credentials are missing: set DOGS_APP and DOGS_SIGN$/m);
    const exported = await runIn(['export', 'dogs.rows', '--to', '-'], folderOf(), {
      ...login,
      ...secrets,
      DOGS_APP: '',
    });
    expect(exported).toMatchObject({ code: expect.any(Number), stderr: expect.stringContaining('variable DOGS_APP') });
  });

  test('shows and stores none of them', { tags: ['slow'] }, async () => {
    const folder = folderOf();
    const variables = { ...login, ...secrets };
    signatures = [];
    isRefusing = false;
    const done = await runIn(['export', 'dogs.rows', '--to', 'rows.csv'], folder, variables);
    expect({ code: done.code, stderr: done.stderr }).toMatchObject({ code: 0 });
    const got = await runIn(['get', 'dogs', '/rows'], folder, variables);
    expect(JSON.parse(got.stdout)).toMatchObject({
      items: [{ id: 1 }],
      sent: {
        'dd-api-key': '[hidden]',
        'dd-app-key': '[hidden]',
        'x-sign': '[hidden]',
        authorization: 'Bearer [hidden]',
      },
    });
    const checked = await runIn(['doctor'], folder, variables);
    expect(checked.stdout).toMatch(/^ok +dogs\.rows +answered/m);
    isRefusing = true;
    const refused = await runIn(['export', 'dogs.rows', '--to', 'other.csv', '--progress', 'json'], folder, variables);
    expect(refused.stderr).toContain('[hidden]');
    const wrong = await runIn(['export', 'dogs.rows', '--to', 'third.csv'], folder, {
      ...variables,
      DOGS_PASSWORD: 'canary-wrong-11',
    });
    expect(wrong.stderr).toContain('The login of dogs: the server responded with 401');
    const reported = await runIn(['report', 'rows.csv', '--to', 'report.html'], folder, variables);
    const all = [done, got, checked, refused, wrong, reported].map(({ stdout, stderr }) => stdout + stderr).join('\n');
    expect(signatures.length).toBeGreaterThan(3);
    for (const secret of [token, 'canary-', ...signatures]) expect(all + contentOf(folder)).not.toContain(secret);
  });
});
