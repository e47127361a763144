import {
  CheckpointError,
  ConfigError,
  HttpError,
  NetworkError,
  PaginationError,
  RateLimitError,
  SinkError,
} from '@sluice/core';
import type { Advice } from '@sluice/core/kit';
import { describe, expect, test } from 'vitest';
import { chooseExitCode } from '../src/errors/exitCode.js';
import {
  abortOnSignals,
  EarlyEnd,
  endedByTerm,
  Failure,
  Interruption,
  TimeUp,
  UsageError,
} from '../src/errors/errors.js';
import { errorSentence } from '../src/options/formatError.js';
import { explainInFlags } from '../src/options/cliTerms.js';
import { holdsSecret, redact, redactValues } from '../src/errors/redact.js';
import { flagsKnownTo } from '../src/options/commands.js';
import { reportError } from '../src/reportError.js';
import { testEnvironment } from './testEnvironment.js';

const anyFlag = (): boolean => true;
const closedPipe = Object.assign(new Error('write EPIPE'), { code: 'EPIPE', syscall: 'write' });
const closedSink = new SinkError("The output can't be written (EPIPE).", { details: { platformCode: 'EPIPE' } });

describe('the exit code', () => {
  test.each([
    ['wrong usage', new UsageError('No.'), 2],
    ["an option the library can't use", new ConfigError('No.'), 2],
    ['a fault of the disk', new SinkError('No.'), 1],
    ['a fault of the API', new HttpError('No.', { status: 500, excerpt: '' }), 1],
    ['a walk that can not go on', new PaginationError('no-progress', 'No.'), 1],
    ['a fault of ours', new Failure('No.'), 1],
    ['a bug', new TypeError('x is not a function'), 1],
    ['something that is no error', 'thrown', 1],
    ['SIGHUP', new Interruption('SIGHUP'), 129],
    ['SIGINT', new Interruption('SIGINT'), 130],
    ['SIGTERM', new Interruption('SIGTERM'), 143],
    ['a watch that SIGTERM ended', endedByTerm(AbortSignal.abort(new Interruption('SIGTERM'))).reason, 0],
    ['a watch that SIGINT ended', endedByTerm(AbortSignal.abort(new Interruption('SIGINT'))).reason, 130],
    ['an export that a signal stopped', new EarlyEnd(new Interruption('SIGTERM'), { consequence: '' }), 143],
    ['a command whose time is over', new TimeUp(), 75],
    ['a watch whose time is over', endedByTerm(AbortSignal.abort(new TimeUp())).reason, 75],
    ['an export whose time is over', new EarlyEnd(new TimeUp(), { consequence: '' }), 75],
    ['an export that failed', new EarlyEnd(new SinkError('No.'), { consequence: '' }), 1],
    ['a reader that went away', closedSink, 141],
    ['a pipe that broke', closedPipe, 141],
    ['a connection that broke', new NetworkError('No.', { details: { platformCode: 'EPIPE' } }), 1],
  ])('of %s', (_, error, code) => {
    expect(chooseExitCode(error)).toBe(code);
  });
});

describe('what is said', () => {
  test.each([
    [new UsageError('Give --to FILE.'), 'Give --to FILE.'],
    [
      new ConfigError((option = 'pageSize') => `${option} is 0: it must be 1.`, { option: 'pageSize' }),
      '--page-size is 0: it must be 1.',
    ],
    [
      new HttpError('streams.list: the server responded with 401.', { status: 401, excerpt: '' }),
      'streams.list: the server responded with 401. "sluice doctor" checks the settings.',
    ],
    [new HttpError('The server responded with 400.', { status: 400, excerpt: '' }), 'The server responded with 400.'],
    [new NetworkError('No answer came.'), 'No answer came. "sluice doctor" checks the settings.'],
    [
      new RateLimitError('It said 429.', {
        status: 429,
        retryAt: undefined,
        advice: [{ kind: 'lower', option: 'rateLimit' }, { kind: 'wait' }],
      }),
      'It said 429. Lower --rate, or try again later.',
    ],
    [
      new TypeError('x is not a function'),
      'Something unexpected happened: x is not a function. Run it again with SLUICE_DEBUG=1 to see where.',
    ],
  ])('%#', (error, sentence) => {
    expect(errorSentence(error, anyFlag)).toBe(sentence);
  });

  test.each<[Advice[], string]>([
    [[{ kind: 'wait' }, { kind: 'raise', option: 'timeouts.response' }], 'Try again later, or raise --timeout.'],
    [
      [
        { kind: 'lower', option: 'pageSize' },
        { kind: 'raise', option: 'maxBodyBytes' },
      ],
      'Ask for smaller pages (--page-size).',
    ],
    [[{ kind: 'allow', option: 'allowInsecure' }], 'Use https.'],
    [
      [{ kind: 'restart-partition' }, { kind: 'restart' }],
      'Fetch this partition again with --on-expired restart-partition, or start over with --restart.',
    ],
    [
      [{ kind: 'wait' }, { kind: 'raise', option: 'maxRetryAfter' }],
      'Try again later, or raise --max-retry-after to wait longer.',
    ],
    [[{ kind: 'wait' }, { kind: 'raise', option: 'maxBodyBytes' }], 'Try again later.'],
    [[{ kind: 'raise', option: 'maxBodyBytes' }], ''],
  ])('what to do, in flags: %j', (advice, meant) => {
    expect(explainInFlags(new SinkError('No.', { advice }), anyFlag)).toBe(`No. ${meant}`.trim());
  });

  test.each([
    ['streams list', 'Try again later, or raise --timeout, or ask for smaller pages (--page-size).'],
    ['get streams /x', 'Try again later, or raise --timeout.'],
    [
      'streams export',
      'Try again later, or raise --timeout, or ask for smaller pages (--page-size), or start over with --restart.',
    ],
    [
      'watch x.y',
      'Try again later, or raise --timeout, or ask for smaller pages (--page-size), or start over with --restart.',
    ],
  ])('sluice %s is advised only what it has', (line, meant) => {
    const environment = testEnvironment();
    const advice: Advice[] = [
      { kind: 'wait' },
      { kind: 'raise', option: 'timeout' },
      { kind: 'lower', option: 'pageSize' },
      { kind: 'restart' },
    ];
    reportError(new SinkError('No.', { advice }), { ...environment, hasFlag: flagsKnownTo(line.split(' ')) });
    expect(environment.written.stderr()).toBe(`sluice: No. ${meant}\n`);
  });

  test('what a refusal left alone is told behind the way out', () => {
    const refused = new CheckpointError('It is damaged.', {}, [{ kind: 'restart' }]);
    expect(refused.message).toBe('It is damaged. Start over with restart: nothing was changed.');
    expect(explainInFlags(refused, anyFlag)).toBe('It is damaged. Start over with --restart: nothing was changed.');
  });

  test.each([
    ['pageSize', '--page-size is 0: it must be 1.'],
    ['batch.count', '--batch is 0: it must be 1.'],
    ['allowAddresses', '--allow-address is 0: it must be 1.'],
    ['ownerAddresses', '--owner is 0: it must be 1.'],
  ])('the option %s is called as it is given', (option, meant) => {
    const error = new ConfigError((name = option) => `${name} is 0: it must be 1.`, { option });
    expect([error.summary, explainInFlags(error, anyFlag)]).toEqual([`${option} is 0: it must be 1.`, meant]);
    expect(explainInFlags(error, () => false)).toBe(error.summary);
  });

  test.each([
    [['pageSize'], 'aptos.nfts', '--page-size'],
    [['partitions', 'pageSize'], 'aptos.nfts', '--owner or --owners-per-request, --page-size'],
    [['collection_whitelist', 'offset'], 'aptos.nfts', '--include-collections, --offset'],
    [['owners', 'include', 'exclude'], 'aptos.nfts.changes', '--owner, --include-collections, --exclude-collections'],
    [['gzip', 'pagesPerMember'], 'library.books', '--gzip'],
    [['bom', 'extra', 'format', 'guardFormulas', 'sink'], 'library.books', '--format'],
    [['bom', 'endpoint', 'format', 'sink'], 'library.books', '--to or --forward'],
    [['guardFormulas', 'extra', 'bom'], 'library.books', '--no-guard-formulas, --extra, --bom'],
    [['baseUrl', 'pageSize', 'source'], 'library.books', 'what is exported'],
    [['baseUrl', 'maxRows', 'pipePages'], 'library.books', '--only'],
    [['paging', 'shelf'], 'library.books', 'paging, shelf'],
    [['to'], 'library.books', '--to'],
    [['ignore'], 'library.books.changes', '--ignore'],
    [['isAppended'], 'library.books', '--if-exists'],
    [
      ['partitions', 'offset', 'collection_whitelist'],
      'library.books',
      'a parameter that decides what is listed, the first row, collection_whitelist',
    ],
  ])('another plan, by the settings %j of %s', (changed, source, flags) => {
    const fault = new CheckpointError(
      (settings = changed.join(', ')) => `The checkpoint was written with different settings (${settings}).`,
      { changed, source },
    );
    expect(explainInFlags(fault, anyFlag)).toBe(`The checkpoint was written with different settings (${flags}).`);
  });

  test('stays on one line and does nothing to the terminal', () => {
    const environment = testEnvironment();
    expect(reportError(new SinkError('/tmp/a\nb\u001b[2J is a folder.'), environment)).toBe(1);
    expect(environment.written.stderr()).toBe('sluice: /tmp/a␊b␛[2J is a folder.\n');
  });

  test('holds no key, and shows where it happened only if asked', () => {
    const variables = { SLUICE_API_KEY: 'canary key+1' };
    const fault = new TypeError('canary key+1 and canary%20key%2B1');
    const calm = testEnvironment({ variables });
    reportError(fault, calm);
    expect(calm.written.stderr()).toMatch(
      /^sluice: Something unexpected happened: \[hidden\] and \[hidden\]\. [^\n]*\n$/,
    );
    const curious = testEnvironment({ variables: { ...variables, SLUICE_DEBUG: '1' } });
    reportError(fault, curious);
    expect(curious.written.stderr()).toContain('\n    at ');
    expect(curious.written.stderr()).not.toContain('canary');
  });

  test('of an export also what is kept, and the command that goes on, on a line of its own', () => {
    const environment = testEnvironment({ variables: { SLUICE_API_KEY: 'canary-of-ours' } });
    const consequence = '7 rows committed. Resume with:';
    const command = "sluice nfts export --to 'canary-of-ours rows.csv'";
    expect(reportError(new EarlyEnd(new Interruption('SIGINT'), { consequence, command }), environment)).toBe(130);
    expect(environment.written.stderr()).toBe(
      `sluice: Stopped by SIGINT. ${consequence}\n  sluice nfts export --to '[hidden] rows.csv'\n`,
    );
  });

  test('nothing, when nobody reads any more or it was told already', () => {
    const environment = testEnvironment();
    expect(reportError(closedSink, environment)).toBe(141);
    expect(reportError(new EarlyEnd(new Interruption('SIGINT'), undefined, true), environment)).toBe(130);
    expect(environment.written.stderr()).toBe('');
  });
});

test.each([
  ['nothing to hide', [], 'nothing to hide'],
  ['the key is K-1.', ['K-1'], 'the key is [hidden].'],
  ['long key1 and key', ['key', 'key1'], 'long [hidden] and [hidden]'],
  ['empty', [''], 'empty'],
  ['CANARY-41FA, 63616e6172792d34316661', ['canary-41fa'], '[hidden], [hidden]'],
])('%j without %j is %j', (text, secrets, clean) => {
  expect(redact(text, secrets)).toBe(clean);
});

test.each([
  ['none is set', ['none'], 'none is set'],
  ['25 of 250 rows', ['25'], '25 of 250 rows'],
  [
    'https://none.example/none?key=none&a=nonesuch',
    ['none'],
    'https://[hidden].example/[hidden]?key=[hidden]&a=nonesuch',
  ],
  ['for "test", test', ['test'], 'for "[hidden]", test'],
  ['the key is K-1.', ['K-1'], 'the key is [hidden].'],
  ['the key is s3cr3t.', ['s3cr3t'], 'the key is [hidden].'],
  ['the key is abcdefgh.', ['abcdefgh'], 'the key is [hidden].'],
])('in a sentence of ours, %j without %j is %j', (text, secrets, clean) => {
  expect(redactValues(text, secrets)).toBe(clean);
});

test('a short key that is a word makes no secret of the word', () => {
  expect(holdsSecret('none', ['none'])).toBe(false);
  expect(holdsSecret('https://x.example/K-1', ['K-1'])).toBe(true);
  expect(holdsSecret('https://x.example/', [''])).toBe(false);
});

test.each([
  { name: 'another signal ends it', signals: ['SIGTERM 0', 'SIGINT 1'], exits: [130] },
  { name: 'the same one again ends it', signals: ['SIGINT 0', 'SIGINT 200'], exits: [130] },
  { name: 'the same one that does not stop ends it', signals: ['SIGINT 0', 'SIGINT 150', 'SIGINT 300'], exits: [130] },
  { name: 'the same one that comes twice is one', signals: ['SIGTERM 0', 'SIGTERM 4'], exits: [] },
])('the first signal asks the command to end; $name', ({ signals, exits }) => {
  const listeners = new Map<string, () => void>();
  const codes: number[] = [];
  let now = 0;
  const source = {
    on: (name: string, listener: () => void) => listeners.set(name, listener),
    exit: (code: number) => codes.push(code),
  };
  const signal = abortOnSignals(source, () => now);
  for (const [nth, sent] of signals.entries()) {
    const [name = '', at] = sent.split(' ');
    now = Number(at);
    listeners.get(name)?.();
    if (nth === 0) expect(codes).toEqual([]);
  }
  expect(signal.reason).toMatchObject({ name: 'Interruption', signal: signals[0]?.split(' ')[0] });
  expect(codes).toEqual(exits);
});

test('a signal that comes after the time was over changes nothing, and the second one ends it', () => {
  const interrupted = new AbortController();
  const codes: number[] = [];
  const listeners = new Map<string, () => void>();
  const source = {
    on: (name: string, listener: () => void) => listeners.set(name, listener),
    exit: (code: number) => codes.push(code),
  };
  const signal = abortOnSignals(source, () => 0, undefined, interrupted);
  interrupted.abort(new TimeUp());
  listeners.get('SIGTERM')?.();
  expect(codes).toEqual([]);
  listeners.get('SIGINT')?.();
  expect(codes).toEqual([130]);
  expect(signal.reason).toBeInstanceOf(TimeUp);
});

test('a short secret that is a word leaves our own sentences as they are, and is hidden where it stands as a value', () => {
  expect(redactValues('none is set: see http://127.0.0.1/none', ['none'])).toBe(
    'none is set: see http://127.0.0.1/[hidden]',
  );
});
