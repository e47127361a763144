import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Sandbox, startSandbox } from '@sluice/sandbox';
import { describe, expect, test } from 'vitest';
import { dashboardAddress } from '../../../test/kit/dashboardAddress.js';
import { freePort } from '../../../test/kit/freePort.js';
import { openDatabase, postgresPrograms } from '../../../test/kit/postgresServer.js';
import { temporaryFolder } from '../../../test/kit/temporaryFolder.js';
import { Interruption } from '../src/errors/errors.js';
import { main } from '../src/program.js';
import { settingsFor, sluice } from './runSluice.js';
import { testEnvironment } from './testEnvironment.js';
import { brokenLinks, changesIn, folded, listed, watchArgs } from './watching.js';

/** Writes what happens to streams by a watch: one fails, and one recovers. */
async function watchInto(target: string, sandbox: Sandbox) {
  const options = { env: settingsFor(sandbox), cwd: temporaryFolder() };
  const poll = async (): Promise<void> => {
    const args = watchArgs('--polls', '1', '--mode', 'history', '--to', target);
    expect(await sluice(args, options)).toMatchObject({ code: 0 });
  };
  for (let nth = 0; nth < 5; nth += 1) sandbox.setStream(nth, { status: 'active', tag: `tag ${nth}` });
  sandbox.setStream(1, { status: 'error', statusMessage: 'HTTP 500' });
  await poll();
  sandbox.setStream(0, { status: 'error', statusMessage: 'HTTP 503' });
  sandbox.setStream(1, { status: 'active', statusMessage: '' });
  await poll();
  return options;
}

describe('the views of a history that a watch has written', () => {
  const targets = [
    ['SQLite', () => Promise.resolve('a.sqlite#streams')],
    ['PostgreSQL', async () => `${(await openDatabase()).url}?table=streams`],
  ] as const;
  test.each(targets.slice(0, postgresPrograms === undefined ? 1 : 2))(
    'D9 sluice log prints the changes that lead to the listing, and sluice report has its outages: %s',
    { tags: ['slow'] },
    async (_, makeTarget) => {
      const target = await makeTarget();
      await using sandbox = await startSandbox({ streams: 5, nasty: 0 });
      const { cwd } = await watchInto(target, sandbox);
      const { stdout } = await sluice(['log', target, '--format', 'jsonl'], { cwd });
      const changes = changesIn(stdout);
      expect(changes.slice(0, 5).map(({ type }) => type)).toEqual(new Array(5).fill('initial'));
      const later = changes.slice(5).map(({ type, after, fields }) => [type, after?.tag, fields]);
      expect(later.toSorted()).toEqual([
        ['changed', 'tag 0', ['status', 'statusMessage']],
        ['changed', 'tag 1', ['status', 'statusMessage']],
      ]);
      expect(folded(changes)).toMatchObject(listed(sandbox));
      expect(brokenLinks(changes)).toEqual([]);
      const text = await sluice(['log', target], { cwd });
      expect(text.stdout).toMatch(/5 streams at the start: 4 active, 1 error/);
      expect(text.stdout).toMatch(/tag 0 +active -> error {2}HTTP 503\n/);
      expect(await sluice(['report', target, '--to', 'r.html'], { cwd })).toMatchObject({ code: 0 });
      const page = readFileSync(join(cwd, 'r.html'), 'utf8');
      expect(page).toContain('<dt>Failing now</dt><dd>1</dd>');
      expect(page).toContain('<dt>Outages</dt><dd>2</dd>');
      expect(page).toContain('<dt>Polls</dt><dd>2</dd>');
    },
  );

  test('D9 the page of a watch that starts again shows how its rows were before', { tags: ['slow'] }, async () => {
    const target = 'a.sqlite#streams';
    await using sandbox = await startSandbox({ streams: 5, nasty: 0 });
    const { cwd, env } = await watchInto(target, sandbox);
    const environment = testEnvironment({ folder: cwd, variables: { ...env, XDG_STATE_HOME: cwd } });
    const args = ['streams', 'watch', '--every', '1h', '--rate', 'unlimited', '--mode', 'history', '--to', target];
    const ended = main([...args, '--dashboard', String(await freePort())], environment);
    const { requests } = sandbox.counts;
    await sandbox.until(() => sandbox.counts.requests > requests);
    const { origin, hash } = new URL(dashboardAddress(environment.written.stderr()) ?? '');
    const answer = await fetch(`${origin}/snapshots`, { headers: { Authorization: `Bearer ${hash.slice(1)}` } });
    const reading = answer.text();
    environment.interrupt(new Interruption('SIGTERM'));
    await ended;
    const lines = (await reading).trim().split('\n');
    const { board, startedAt } = JSON.parse(lines.at(-1) ?? '{}');
    expect(board.since).toBeLessThan(startedAt);
    expect(board.total).toBe(5);
    const strips = board.rows.map(([name, , ...strip]: [string, string, ...[number, number][]]) =>
      [name, ...strip.map(([, status]) => board.names[status])].join(' '),
    );
    expect(strips.slice(0, 2)).toEqual(['tag 0 active error', 'tag 1 error active']);
    expect(strips.toSorted()).toEqual([
      'tag 0 active error',
      'tag 1 error active',
      ...[2, 3, 4].map((nth) => `tag ${nth} active`),
    ]);
  });
});
