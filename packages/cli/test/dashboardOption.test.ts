import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import type { Dashboard } from '@sluice/dashboard';
import { startSandbox } from '@sluice/sandbox';
import { describe, expect, test } from 'vitest';
import { dashboardAddress } from '../../../test/kit/dashboardAddress.js';
import { freePort } from '../../../test/kit/freePort.js';
import { temporaryFolder } from '../../../test/kit/temporaryFolder.js';
import { parsePort } from '../src/options/option.js';
import { announce, pageOptions, withoutDashboard } from '../src/source/dashboardPage.js';
import { keptToken, tokenFile } from '../src/source/dashboardToken.js';
import { settingsFor, sluice } from './runSluice.js';
import { testEnvironment } from './testEnvironment.js';

describe('--dashboard', () => {
  test.each<[readonly string[], readonly string[]]>([
    [
      ['watch', 'a.b', '--dashboard'],
      ['watch', 'a.b'],
    ],
    [
      ['watch', '--dashboard', '8080', 'a.b'],
      ['watch', 'a.b'],
    ],
    [
      ['watch', '--dashboard=8080', '--polls', '3'],
      ['watch', '--polls', '3'],
    ],
    [
      ['watch', '--dashboard', '--polls', '3'],
      ['watch', '--polls', '3'],
    ],
  ])('is left out of the command that shows the same: %j', (args, shown) => {
    expect(withoutDashboard(args)).toEqual(shown);
  });

  test('takes a port or none', () => {
    expect(parsePort('65535')).toBe(65_535);
    for (const text of ['65536', '-1', '8.5', 'a', ' 80']) expect(() => parsePort(text)).toThrow('port');
  });

  test('needs a run for cluster status, before anything is connected', async () => {
    const { code, stderr } = await sluice(['cluster', 'status', '--dashboard']);
    expect([code, stderr]).toEqual([2, expect.stringContaining('name it')]);
  });
});

describe('the token of the dashboard', () => {
  /** A folder for the user's state. */
  const ownState = () => {
    const folder = temporaryFolder();
    return { folder, variables: { XDG_STATE_HOME: folder }, file: join(folder, 'sluice', 'dashboard-token') };
  };

  test('U3 stays the same for a port, and does not stand in a log', async () => {
    await using sandbox = await startSandbox({ streams: 3 });
    const { folder, variables, file } = ownState();
    const port = await freePort();
    const args = ['streams', 'export', '--rate', 'unlimited', '--quiet', '--dashboard', String(port)];
    const addresses: (string | undefined)[] = [];
    for (const to of ['a.csv', 'b.csv']) {
      const { code, stderr } = await sluice([...args, '--to', to], {
        env: { ...settingsFor(sandbox), ...variables },
        cwd: folder,
      });
      expect([code, stderr]).toEqual([0, `Dashboard: http://127.0.0.1:${port}/#TOKEN (TOKEN is in ${file})\n`]);
      expect(stderr).not.toContain(readFileSync(file, 'utf8').trimEnd());
      addresses.push(dashboardAddress(stderr));
    }
    expect(addresses[0]).toMatch(/#[\w-]{32}$/);
    expect(addresses[1]).toBe(addresses[0]);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(statSync(join(folder, 'sluice')).mode & 0o777).toBe(0o700);
  });

  test('U3 is a new one for each start on a terminal without a port, and no file is needed', async () => {
    const terminal = testEnvironment({ columns: 80 });
    expect(await pageOptions({ dashboard: true }, terminal)).toEqual({});
    const { variables } = ownState();
    const shown = testEnvironment({ columns: 80, variables });
    const options = await pageOptions({ dashboard: 8080 }, shown);
    expect(options).toEqual({ port: 8080, token: expect.stringMatching(/^[\w-]{32}$/) });
    await announce({ url: Promise.resolve('http://127.0.0.1:8080/#secret') } as Dashboard, {}, shown);
    expect(shown.written.stderr()).toBe('Dashboard: http://127.0.0.1:8080/#secret\n');
  });

  test('U3 is an event in --progress json, and no token stands in it', async () => {
    const { variables, file } = ownState();
    const log = testEnvironment({ variables });
    const page = { url: Promise.resolve('http://127.0.0.1:8080/#secret') } as Dashboard;
    await announce(page, { progress: 'json' }, log);
    const event = { event: 'dashboard', url: 'http://127.0.0.1:8080/#TOKEN', tokenFile: file };
    expect(JSON.parse(log.written.stderr())).toEqual(event);
  });

  test('U3 is the same for all who start at once, and leaves one file', async () => {
    const { folder, file } = ownState();
    const tokens = await Promise.all(Array.from({ length: 20 }, () => keptToken(file)));
    expect(new Set(tokens)).toEqual(new Set([readFileSync(file, 'utf8').trimEnd()]));
    expect(readdirSync(join(folder, 'sluice'))).toEqual(['dashboard-token']);
  });

  const text = `${'t'.repeat(32)}\n`;
  const write = (content: string, mode: number) => (file: string) => {
    writeFileSync(file, content);
    chmodSync(file, mode);
  };
  test.each<[string, (file: string) => unknown, string]>([
    ['that others can read', write(text, 0o640), 'is open to other users'],
    ['that others can write', write(text, 0o602), 'is open to other users'],
    ['that is empty', write('', 0o600), 'does not hold a token'],
    ['that was cut', write(text.slice(9), 0o600), 'does not hold a token'],
    ['that is long', write(text.repeat(99), 0o600), 'does not hold a token'],
    ['that is a link', (file) => (write(text, 0o600)(`${file}2`), symlinkSync(`${file}2`, file)), 'is a link'],
    ['that is a dangling link', (file) => symlinkSync(`${file}2`, file), 'is a link'],
    ['that is a folder', (file) => mkdirSync(file), 'is not a file'],
    ['that is a FIFO', (file) => execFileSync('mkfifo', ['-m', '600', file]), 'is not a file'],
  ])('U3 is not taken from a file %s', async (_, make, reason) => {
    const { file } = ownState();
    mkdirSync(dirname(file));
    make(file);
    await expect(keptToken(file)).rejects.toThrow(
      `${file} ${reason}, so the dashboard does not use it. Remove it: the next start creates a new token.`,
    );
  });

  test.runIf(process.getuid?.() === 0)("U3 is not taken from another user's file", async () => {
    const { file } = ownState();
    mkdirSync(dirname(file));
    write(text, 0o600)(file);
    chownSync(file, 65_534, 65_534);
    await expect(keptToken(file)).rejects.toThrow('belongs to another user');
  });

  test('U3 a folder that takes no file is an error before anything is requested', async () => {
    const { folder } = ownState();
    writeFileSync(join(folder, 'full'), '');
    const { code, stderr } = await sluice(['streams', 'export', '--to', 'a.csv', '--dashboard', '4792'], {
      env: {
        SLUICE_API_KEY: 'a-key-of-some-length',
        SLUICE_STREAMS_URL: 'http://127.0.0.1:9',
        XDG_STATE_HOME: join(folder, 'full'),
      },
      cwd: folder,
    });
    expect([code, stderr]).toEqual([1, expect.stringContaining('(ENOTDIR). Set XDG_STATE_HOME to a folder')]);
    expect(readdirSync(folder)).toEqual(['full']);
  });

  test.each<[Readonly<Record<string, string>>, string | undefined]>([
    [{ HOME: '/h', XDG_STATE_HOME: '/x', STATE_DIRECTORY: '/var/lib/a:/var/lib/b' }, '/var/lib/a/dashboard-token'],
    [{ HOME: '/h', XDG_STATE_HOME: '/x' }, '/x/sluice/dashboard-token'],
    [{ HOME: '/h', XDG_STATE_HOME: 'x' }, '/h/.local/state/sluice/dashboard-token'],
    [{ HOME: '' }, undefined],
  ])('U3 is where the user keeps state: %j', (variables, file) => {
    if (file === undefined) expect(() => tokenFile(variables)).toThrow('Set XDG_STATE_HOME');
    else expect(tokenFile(variables)).toBe(file);
  });
});
