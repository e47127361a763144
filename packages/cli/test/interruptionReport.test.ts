import { ConfigError, HttpError, LockError, PaginationError, SinkError } from '@sluice/core';
import type { Checkpoint } from '@sluice/core/kit';
import { describe, expect, test } from 'vitest';
import { Interruption } from '../src/errors/errors.js';
import { describeInterruption } from '../src/export/interruptedExport.js';
import { resumeCommand, type ResumeCommands } from '../src/export/resume.js';
import { resumedAt, resumedLine } from '../src/export/messages.js';

type Left = Parameters<typeof describeInterruption>[0]['committed'];

const commands: ResumeCommands = { resume: 'sluice nfts export', isRestart: false };
const rows: Left = { last: { rows: 12_300 }, isKnown: true };
const sealed: Left = { last: { rows: 12_300, isSealed: true }, isKnown: true };
const interrupted = new Interruption('SIGINT');
const diskFull = new SinkError('No.', { details: { platformCode: 'ENOSPC' } });

describe('what an early end leaves', () => {
  test.each<[string, unknown, Left, Partial<ResumeCommands>, string | undefined]>([
    ['a signal', interrupted, rows, {}, '12,300 rows committed. Resume with:'],
    ['a signal after one row', interrupted, { last: { rows: 1 }, isKnown: true }, {}, '1 row committed. Resume with:'],
    [
      'a signal, the owners from stdin',
      interrupted,
      rows,
      { fromStdin: 'owners' },
      '12,300 rows committed. Provide the owners on stdin again. Resume with:',
    ],
    [
      'a signal before a commit, the key from stdin',
      interrupted,
      { isKnown: true },
      { fromStdin: 'key' },
      'No row was committed yet. Provide the key on stdin again. The same command starts over:',
    ],
    [
      'a signal at the very end',
      interrupted,
      sealed,
      {},
      'All 12,300 rows are written, and only moving the file into place is left. Finish with:',
    ],
    [
      'a signal before anything',
      interrupted,
      { isKnown: false },
      {},
      'Nothing was fetched yet. Run the same command again.',
    ],
    [
      'a signal before anything, the owners from stdin',
      interrupted,
      { isKnown: false },
      { fromStdin: 'owners' },
      'Nothing was fetched yet. Provide the owners on stdin again. Run the same command again.',
    ],
    ['a full disk', diskFull, rows, {}, '12,300 rows committed; run the same command to resume.'],
    [
      'a full disk, after a restart',
      diskFull,
      rows,
      { isRestart: true },
      '12,300 rows committed; run the same command without --restart to resume.',
    ],
    [
      'a full disk at the very end',
      diskFull,
      sealed,
      {},
      'All 12,300 rows are written; run the same command to resume.',
    ],
    [
      'rows that somebody removed',
      new SinkError('out.csv.part was removed.', { advice: [{ kind: 'restart' }] }),
      rows,
      {},
      undefined,
    ],
    ['a full disk before a commit', diskFull, { isKnown: true }, {}, undefined],
    ['a name that was taken meanwhile', new SinkError('No.'), sealed, {}, undefined],
    [
      'an API that fails',
      new HttpError('No.', { status: 500, excerpt: '' }),
      rows,
      {},
      '12,300 rows committed; run the same command to resume.',
    ],
    ['a bug', new TypeError('No.'), rows, {}, '12,300 rows committed; run the same command to resume.'],
    ['an expired cursor', new PaginationError('cursor-refused', 'No.'), rows, {}, '12,300 rows committed.'],
    ['an API that goes in circles', new PaginationError('no-progress', 'No.'), rows, {}, '12,300 rows committed.'],
  ])('after %s', (_, error, committed, more, consequence) => {
    const interruptionReport = describeInterruption({
      error,
      hasBegun: true,
      committed,
      commands: { ...commands, ...more },
      kind: 'file',
    });
    expect(interruptionReport?.consequence).toBe(consequence);
    expect(interruptionReport?.command).toBe(consequence?.endsWith(':') ? 'sluice nfts export' : undefined);
  });

  test.each([new LockError('No.'), new ConfigError('No.'), new SinkError('No.')])(
    'an export that was refused says nothing of rows: %s',
    (error) => {
      expect(describeInterruption({ error, hasBegun: false, committed: rows, commands, kind: 'file' })).toBeUndefined();
    },
  );
});

test('the command that goes on is the very command line, without what holds for one run', () => {
  const args = ['nfts', 'export', '--restart', '--to', "it's here.csv", '--break-lock', '--same-project'];
  expect(resumeCommand('node dist/bin.js', args).text).toBe(
    String.raw`node dist/bin.js nfts export --to 'it'\''s here.csv' --same-project`,
  );
});

test('the command that resumes has only the origin of a URL, whose rest may be a token', () => {
  const resumed = ['streams', 'export', '--forward', 'https://h.example/token', '--ping', 'https://p.example/id'];
  expect(resumeCommand('sluice', resumed)).toEqual({
    text: "sluice streams export --forward 'https://h.example/…' --ping 'https://p.example/…'",
    isAddressCut: true,
  });
  expect(resumeCommand('sluice', ['nfts', 'export', '--ping=https://p.example/id']).text).toBe(
    "sluice nfts export '--ping=https://p.example/…'",
  );
});

describe('an export that goes on', () => {
  const at = (pages: number) => ({ next: { cursor: 'c' }, pages, rows: 100 * pages });
  const checkpoint: Checkpoint = {
    v: 1,
    runId: '',
    source: 'aptos.nfts',
    planHash: '',
    settings: {},
    begun: {},
    sinkPosition: null,
    partitions: 1,
    rows: 12_300,
    pages: 123,
    position: { before: 0, begun: { '0': at(123) }, rows: 0, pages: 0 },
  };

  test.each<[string, Partial<Checkpoint>, string]>([
    ['in a plan of one part', {}, 'Resuming after 12,300 rows (123 pages), at page 124.'],
    [
      'in a later part',
      { partitions: 12, position: { before: 2, begun: { '2': at(3) }, rows: 0, pages: 0 } },
      'Resuming after 12,300 rows (123 pages), at page 4 of partition 3 of 12.',
    ],
    [
      'in several parts',
      {
        partitions: 12,
        position: { before: 2, begun: { '2': at(3), '4': at(1) }, done: [[3, 3, 0]], rows: 0, pages: 0 },
      },
      'Resuming after 12,300 rows (123 pages), at page 4 of partition 3 of 12, and in 1 later partition.',
    ],
    [
      'between two parts',
      { partitions: 12, position: { before: 2, begun: {}, rows: 0, pages: 0 } },
      'Resuming after 12,300 rows (123 pages), at page 1 of partition 3 of 12.',
    ],
    [
      'after the last page',
      { position: { before: 1, begun: {}, rows: 0, pages: 0 } },
      'All 12,300 rows are written already; only moving the file into place is left.',
    ],
    [
      'at the very end',
      { isSealed: true },
      'All 12,300 rows are written already; only moving the file into place is left.',
    ],
  ])('%s says where', (_, change, line) => {
    expect(resumedLine(resumedAt({ ...checkpoint, ...change }), 'file')).toBe(line);
  });

  test('into a table says what is left of it', () => {
    expect(resumedLine(resumedAt({ ...checkpoint, isSealed: true }), 'table')).toBe(
      'All 12,300 rows are written already; only making them visible is left.',
    );
  });
});
