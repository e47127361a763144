import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { serve } from '../../core/test/define/servedApi.js';
import { configFolder, run } from './config/configFolder.js';
import { readTable } from './readTable.js';
import { startSluice } from './runSluice.js';

interface Ticket {
  readonly id: number;
  readonly updated_at: string;
}

const at = (minute: number): string => new Date(Date.UTC(2026, 0, 1, 0, minute)).toISOString();

/** Tickets of 250 minutes, and a folder whose configuration has their API. */
async function openDesk() {
  const tickets: Ticket[] = Array.from({ length: 250 }, (_, id) => ({ id, updated_at: at(id) }));
  const held: (() => void)[] = [];
  let holdAt = Infinity;
  const { baseUrl, asked } = await serve(({ searchParams: query }, nth) => {
    if (nth === holdAt) for (const tell of held.splice(0)) tell();
    if (nth >= holdAt) return 'cut';
    const since = query.get('since') ?? at(0);
    const listed = tickets.filter(({ updated_at }) => updated_at >= since).slice(0, Number(query.get('n')));
    return { body: listed, headers: { date: new Date('2026-03-01T00:00:00Z').toUTCString() } };
  });
  const folder = configFolder({
    'sluice.config.ts': `
      import { bySince, defineApi, listing } from '@sluice/core/define';
      const desk = defineApi({ name: 'desk', sources: { tickets: listing({
        path: '/tickets', rows: '', columns: ['id', 'updated_at'], key: 'id', version: '1',
        pageSize: { param: 'n', default: 20, max: 20 },
        paging: bySince({ param: 'since', field: 'updated_at', type: 'instant' }),
      }) } });
      export default { plugins: [desk({ baseUrl: '${baseUrl}' })], defaults: { rate: 'unlimited' } };`,
  });
  const args = (...more: string[]): string[] => ['export', 'desk.tickets', '--incremental', ...more];
  /** Runs a command in a process of its own, which is killed at its fifth request. */
  const killed = async (...more: string[]): Promise<void> => {
    holdAt = asked.length + 5;
    const isHeld = new Promise<void>((resolve) => held.push(resolve));
    const { process, ended } = startSluice(args(...more, '--commit-every', '1'), { cwd: folder });
    await Promise.race([isHeld, ended]);
    process.kill('SIGKILL');
    expect((await ended).code).toBeNull();
    holdAt = Infinity;
  };
  return { tickets, folder, args, killed, sluice: (...more: string[]) => run(args(...more), folder), asked };
}

const idsIn = (folder: string, name: string): number[] =>
  readFileSync(join(folder, name), 'utf8')
    .trim()
    .split('\n')
    .slice(1)
    .map((line) => Number(line.split(',')[0]));

const numbers = (from: number, until: number): number[] => Array.from({ length: until - from }, (_, nth) => from + nth);

describe('A5 sluice export --incremental --since --until', () => {
  test(
    'has the rows of a range in a file of its own, after a kill, too, and the nights have what they had',
    { tags: ['slow'] },
    async () => {
      const { tickets, folder, killed, sluice } = await openDesk();
      const night = ['--state', 'tickets.state', '--to', 'all.csv', '--if-exists', 'append'];
      const range = ['--since', at(30), '--until', at(200), '--to', 'again.csv'];
      expect((await sluice(...night)).code).toBe(0);
      tickets.push({ id: 250, updated_at: at(300) });
      await killed(...range);
      // It has a state of its own.
      expect((await sluice(...night)).stderr).toMatch(/^1 new row in /);
      expect(await sluice(...range)).toMatchObject({
        code: 0,
        stderr: expect.stringMatching(/^Resuming after \d+ rows .*\n170 rows in \d+ pages/),
      });
      expect(idsIn(folder, 'again.csv')).toEqual(numbers(30, 200));
      expect((await sluice(...night)).stderr).toMatch(/^0 new rows in /);
      expect(idsIn(folder, 'all.csv')).toEqual(numbers(0, 251));
      expect(readdirSync(folder).filter((name) => name.includes('.sluice'))).toEqual([]);
    },
  );

  test(
    'into the table of the nights waits for an interrupted one, and names its command',
    { tags: ['slow'] },
    async () => {
      const { tickets, folder, killed, sluice } = await openDesk();
      const night = ['--to', 'desk.sqlite#tickets', '--mode', 'merge'];
      const range = [...night, '--since', at(30), '--until', at(200)];
      const idsOf = (): number[] => {
        const ids = readTable(join(folder, 'desk.sqlite'), 'SELECT id FROM tickets').flat();
        return ids.map(Number).sort((a, b) => a - b);
      };
      await killed(...night);
      expect(await sluice(...range)).toMatchObject({
        code: 1,
        stderr: expect.stringMatching(
          /An export of what is new has not finished, and its checkpoint would be lost: run it again first\. It was made with .*command: .* export desk\.tickets --incremental --to 'desk\.sqlite#tickets' --mode merge/,
        ),
      });
      expect((await sluice(...night)).code).toBe(0);
      expect(idsOf()).toEqual(numbers(0, 250));
      await killed(...range);
      expect(await sluice(...night)).toMatchObject({
        code: 1,
        stderr: expect.stringMatching(
          /An export of the rows from \S+:30:00.000Z until \S+ has not finished, .* --restart/,
        ),
      });
      tickets.push({ id: 250, updated_at: at(300) });
      expect(await sluice(...range)).toMatchObject({ code: 0, stderr: expect.stringContaining('(nothing changed') });
      expect((await sluice(...night)).stderr).toMatch(/\(1 added, /);
      expect(idsOf()).toEqual(numbers(0, 251));
    },
  );

  test('--until alone is the end of an increment, and the next one goes on there', async () => {
    const { folder, sluice } = await openDesk();
    const night = (to: string, ...more: string[]): string[] => ['--state', 'tickets.state', '--to', to, ...more];
    expect((await sluice(...night('1.csv', '--until', at(100)))).stderr).toMatch(/^100 new rows in /);
    expect((await sluice(...night('2.csv'))).stderr).toMatch(/^150 new rows in /);
    expect([...idsIn(folder, '1.csv'), ...idsIn(folder, '2.csv')]).toEqual(numbers(0, 250));
  });

  test.each<[string, string[], string]>([
    ['an end without it', ['--until', at(0), '--to', 'a.csv'], '--until needs --incremental.'],
    [
      'an end and all rows',
      ['--incremental', '--state', 's', '--until', at(0), '--full', '--to', 'a.csv'],
      '--until and --full exclude each other: give an end, or export all rows.',
    ],
    [
      'an end without a state',
      ['--incremental', '--until', at(0), '--to', 'a.csv'],
      '--incremental needs --state DIR: there it keeps how far the last export came.',
    ],
    [
      'an end of another kind',
      ['--incremental', '--state', 's', '--until', 'friday', '--to', 'a.csv'],
      '--until is "friday", and must be a date with a time and a zone, e.g. 2026-01-31T08:30:00Z.',
    ],
    [
      'an end that is not behind the start',
      ['--incremental', '--since', at(1), '--until', at(1), '--to', 'a.csv'],
      '--since must be before --until: there are no rows between them.',
    ],
  ])('is refused with %s', async (_, more, sentence) => {
    const { folder, asked } = await openDesk();
    expect(await run(['export', 'desk.tickets', ...more], folder)).toEqual({
      code: 2,
      stdout: '',
      stderr: `sluice: ${sentence}\n`,
    });
    expect(asked).toEqual([]);
  });
});
