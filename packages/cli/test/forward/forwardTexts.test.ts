import { CheckpointError, LockError, PaginationError } from '@sluice/core';
import type { Checkpoint } from '@sluice/core/kit';
import type { DeadLetter } from '@sluice/exporters/webhook';
import { NEVER } from 'rxjs';
import { describe, expect, test } from 'vitest';
import { exportInterruption, describeInterruption } from '../../src/export/interruptedExport.js';
import { resumeCommand, shownAddress } from '../../src/export/resume.js';
import { Interruption } from '../../src/errors/errors.js';
import { deadLetterSummary, deadLetterWarning } from '../../src/target/deliveries.js';
import { forwardPlaces } from '../../src/target/forwardTarget.js';
import { ownStateHint } from '../../src/target/statePlace.js';
import { reportLines } from '../../src/commands/checkpoint/lines.js';
import { forwardedPosition } from '../../src/commands/checkpoint/stateReport.js';
import { openingLine, resumedLine, summaryLine } from '../../src/export/messages.js';
import { plainLine, type Progress, progressFields } from '../../src/progress/exportProgress.js';
import { progressLine } from '../../src/progress/progressLine.js';
import { testEnvironment } from '../testEnvironment.js';

type Left = Parameters<typeof describeInterruption>[0]['committed'];

test.each([
  ['https://hooks.example.com', 'https://hooks.example.com'],
  ['https://hooks.example.com/', 'https://hooks.example.com'],
  ['https://hooks.example.com/t0ken', 'https://hooks.example.com/…'],
  ['https://hooks.example.com?t0ken', 'https://hooks.example.com/…'],
  ['https://hooks.example.com#t0ken', 'https://hooks.example.com/…'],
  ['https://me:t0ken@hooks.example.com', 'https://hooks.example.com/…'],
  ['t0ken', '…'],
])('the address %s is shown as %s', (url, shown) => {
  expect(shownAddress(url)).toBe(shown);
});

test.each([
  ['https://hooks.example.com/changes', {}, 'hooks.example.com.sluice', 'hooks.example.com.dead.jsonl'],
  ['http://127.0.0.1:8080/', {}, '127.0.0.1-8080.sluice', '127.0.0.1-8080.dead.jsonl'],
  ['http://[::1]:8080/', {}, '1-8080.sluice', '1-8080.dead.jsonl'],
  ['none', {}, 'webhook.sluice', 'webhook.dead.jsonl'],
  ['https://a.io', { state: 'kept/nfts.sluice/' }, 'kept/nfts.sluice/', 'kept/nfts.dead.jsonl'],
  ['https://a.io', { state: 'nfts' }, 'nfts', 'nfts.dead.jsonl'],
  ['https://a.io', { deadLetters: 'dead' }, 'a.io.sluice', 'dead'],
])('a forward to %s with %o keeps %s and %s', (url, given, state, deadLetters) => {
  expect(forwardPlaces(url, given)).toEqual({ state, deadLetters });
});

test('the command that goes on shows no more of an address than its origin', () => {
  const args = ['streams', 'export', '--forward', 'https://a.io/t0ken', '--secret-file', 'my secret', '--restart'];
  expect(resumeCommand('sluice', args)).toEqual({
    text: "sluice streams export --forward 'https://a.io/…' --secret-file 'my secret'",
    isAddressCut: true,
  });
  expect(resumeCommand('sluice', ['dlq', 'replay', 'F', '--to=https://a.io/t0ken'], '--to')).toEqual({
    text: "sluice dlq replay F '--to=https://a.io/…'",
    isAddressCut: true,
  });
  expect(resumeCommand('sluice', ['--forward', 'https://a.io', '--to', 'https://a.io/b.csv'])).toEqual({
    text: 'sluice --forward https://a.io --to https://a.io/b.csv',
    isAddressCut: false,
  });
});

describe('what an early end leaves of a forward', () => {
  const interrupted = new Interruption('SIGINT');
  const rows: Left = { last: { rows: 4000 }, isKnown: true };
  const commands = { resume: 'sluice', isRestart: false };
  const forwarding = { state: 'a.io.sluice', deadLetters: 'a.io.dead.jsonl', warnings: NEVER };

  test.each<[string, Left, object, string]>([
    ['rows', rows, {}, 'At least 4,000 rows are delivered, and none is lost. Resume with:'],
    [
      'one row',
      { last: { rows: 1 }, isKnown: true },
      {},
      'At least 1 row is delivered, and none is lost. Resume with:',
    ],
    ['none that is committed', { last: { rows: 0 }, isKnown: true }, {}, 'No row is lost. Resume with:'],
    ['none at all', { isKnown: true }, {}, 'Nothing was sent yet. The same command starts over:'],
    [
      'all',
      { last: { rows: 4000, isSealed: true }, isKnown: true },
      {},
      'All 4,000 rows are delivered, and only cleaning up is left. Finish with:',
    ],
    [
      'a secret from stdin, and a long address',
      { isKnown: true },
      { fromStdin: 'secret', isAddressCut: true },
      'Nothing was sent yet. Provide the secret on stdin again. Replace the address that ends in "…" with the complete one. The same command starts over:',
    ],
  ])('%s', (_, committed, more, consequence) => {
    const end = { error: interrupted, hasBegun: true, committed, commands: { ...commands, ...more } };
    expect(describeInterruption({ ...end, kind: 'webhook' })?.consequence).toBe(consequence);
  });

  test('an expired cursor: a service gives no rows back', () => {
    const error = new PaginationError('cursor-refused', 'No.');
    const target = { kind: 'webhook', name: 'https://a.io', forwarding } as const;
    expect(
      exportInterruption({ error, target, latest: undefined, resuming: undefined, deadLetters: 2 }),
    ).toBeUndefined();
    const last: Checkpoint = {
      v: 1,
      runId: 'run',
      source: 'aptos.nfts',
      planHash: '',
      settings: {},
      position: { before: 0, begun: {}, rows: 4000, pages: 40 },
      rows: 4000,
      pages: 40,
      begun: {},
    };
    const resuming = { committed: { last, isKnown: true }, commands, exportOptions: {} };
    const latest = { isDone: false, rows: 0, pages: 0, resumedRows: 0, committedRows: 0 } as const;
    expect(exportInterruption({ error, target, latest, resuming, deadLetters: 2 })?.consequence).toBe(
      'A service cannot undo a partition, so use --restart: it receives the same records again, with the same ids. 2 records were set aside in a.io.dead.jsonl. At least 4,000 rows are delivered, and none is lost.',
    );
  });

  test.each<[unknown, boolean]>([
    [new LockError('No.'), true],
    [new CheckpointError('No.', { changed: ['source'] }), true],
    [new CheckpointError('No.'), false],
  ])('%s may be about the state of another one', (error, isOthers) => {
    expect(ownStateHint(error, 'webhook') !== undefined).toBe(isOthers);
    expect(ownStateHint(error, 'sink') !== undefined).toBe(isOthers);
    expect(ownStateHint(error, 'file')).toBeUndefined();
  });
});

test('dead letters, in sentences', () => {
  const letter: DeadLetter = { id: 'r1', key: 'k', attempts: 2, status: 422, answer: 'no', at: '', record: {} };
  expect(deadLetterWarning(letter, 'F')).toBe('Record r1 was refused with 422 ("no"), and set aside in F.');
  expect(deadLetterWarning({ ...letter, answer: '' }, 'F')).toBe('Record r1 was refused with 422, and set aside in F.');
  expect(deadLetterWarning({ ...letter, attempts: 0, status: null, answer: '' }, 'F')).toBe(
    'Record r1 was parked in F: one before it with its key was refused.',
  );
  expect(deadLetterSummary(1, 'my dead', 'sluice')).toBe(
    `1 record was not taken and is kept in my dead: look at it with "sluice dlq show 'my dead'", and send it again with "sluice dlq replay 'my dead' --to URL --secret-file FILE".`,
  );
});

describe('progress of a forward', () => {
  const progress: Progress = {
    rows: 300,
    pages: 3,
    resumedRows: 0,
    total: undefined,
    elapsed: 1000,
    requests: 3,
    retries: 0,
    waited: 0,
    sent: { deliveries: 310, redeliveries: 10 },
  };

  test('says what was sent to the endpoint', () => {
    const { colors } = testEnvironment().stderr;
    expect(plainLine(progress)).toBe('300 rows, 300/s, 3 pages, 3 requests, 310 deliveries, 10 repeated');
    expect(progressLine(progress, { columns: 100, colors })).toContain('310 deliveries  10 repeated');
    expect(progressFields(progress)).toMatchObject({ deliveries: 310, redeliveries: 10 });
  });

  test('and at the end what was repeated or not taken', () => {
    const summary = {
      rows: 300,
      pages: 3,
      resumedRows: 0,
      target: 'https://a.io',
      elapsed: 1000,
      retries: 0,
    };
    const { redeliveries } = progress.sent ?? {};
    expect(summaryLine({ ...summary, redeliveries: redeliveries ?? 0, deadLetters: { count: 1, path: 'F' } })).toBe(
      '300 rows in 3 pages -> https://a.io (1.0 s, 10 deliveries repeated, 1 dead letter)',
    );
  });

  test('begins with where it keeps what it has to remember, and what it goes on from', () => {
    const header = { source: 's', target: 'https://a.io', format: 'json' };
    expect(openingLine(header)).toBeUndefined();
    expect(openingLine({ ...header, state: 'S', deadLetterFile: 'D' })).toBe(
      'Forwarding to https://a.io. Its state is kept in S, dead letters in D.',
    );
    const resumed = { rows: 0, pages: 0, isSealed: false, partitions: 1, partition: 1, page: 1, otherPartitions: 0 };
    expect(resumedLine(resumed, 'webhook')).toBe('Resuming from the first page; delivered records are not sent again.');
    expect(resumedLine({ ...resumed, rows: 300, pages: 3, page: 4 }, 'webhook')).toBe(
      'Resuming after 300 rows (3 pages), at page 4.',
    );
    expect(resumedLine({ ...resumed, rows: 300, isSealed: true }, 'webhook')).toBe(
      'All 300 rows are delivered already; only cleaning up is left.',
    );
    // Of a plugin's sink nothing is known but what was committed.
    expect(resumedLine(resumed, 'sink')).toBe('Resuming from the first page: no row was committed yet.');
    expect(resumedLine({ ...resumed, rows: 300, isSealed: true }, 'sink')).toBe(
      'All 300 rows are written already; only closing the target is left.',
    );
  });
});

test('sluice checkpoint show says of a forward what is delivered', () => {
  const sinkPosition: NonNullable<Checkpoint['sinkPosition']> = { next: 301, dead: 2, letters: null };
  const report = {
    checkpoint: 'a.io.sluice/checkpoint',
    source: 'aptos.nfts',
    rows: 300,
    pages: 3,
    writtenAt: '',
    partitions: { total: 1, finished: 0, open: [] },
    forwarded: forwardedPosition(sinkPosition) ?? { deadLetters: -1 },
  };
  const kept = (isSealed: boolean) => reportLines({ ...report, isSealed }, 0).find(([label]) => label === 'kept')?.[1];
  expect(kept(false)).toBe('at least 300 rows in 3 pages are sent, 2 of them not taken');
  expect(kept(true)).toBe('all 300 rows in 3 pages are sent, 2 of them not taken; only cleaning up is left');
  expect(forwardedPosition({ bytes: 12, crc32: 0 })).toBeUndefined();
});
