import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  createSource,
  exportTo,
  memoryState,
  watch,
  type Change,
  type ExportReport,
  type Sink,
  type Source,
  type StateStore,
} from '@sluice/core';
import type { ReceiverAnswer } from '@sluice/sandbox';
import { filter, map } from 'rxjs';
import { describe, expect, test } from 'vitest';
import { temporaryFolder } from '../../../../test/kit/temporaryFolder.js';
import { jsonl } from '../../src/jsonl.js';
import { openReceiver, webhookTo } from './forwarding.js';

interface Stream {
  readonly id: string;
  readonly status: string;
}

interface Settings {
  /** Of an operator that leaves out rows that were there at the start. Absent: no operator. */
  readonly version?: string | undefined;
  readonly ignore?: readonly string[];
  readonly restart?: boolean;
}

/** Two streams that are watched, and the states of the watch and its export. */
class Watched {
  rows: readonly Stream[] = ['a', 'b'].map((id) => ({ id, status: 'active' }));
  readonly warnings: string[] = [];
  readonly #watchState = memoryState();
  readonly #exportState: StateStore;

  constructor(isSeparate = false) {
    this.#exportState = isSeparate ? memoryState() : this.#watchState;
  }

  fail(id: string): void {
    this.rows = this.rows.map((row) => (row.id === id ? { id, status: 'error' } : row));
  }

  /** One poll, whose changes go to a sink. */
  run<T>(sink: Sink<T>, toSource: (changes: Source<Change<Stream>>) => Source<T>, settings: Settings = {}) {
    const { ignore, restart = false } = settings;
    const source = createSource<Stream>({
      name: 'streams',
      identity: null,
      schema: { columns: ['id', 'status'], key: ({ id }) => id },
      fetch: () => Promise.resolve({ rows: this.rows, next: 'end' as const }),
    });
    const watched = watch(source, { every: 1, polls: 1, state: this.#watchState, ...(ignore && { ignore }) });
    return exportTo(toSource(watched), sink, {
      state: this.#exportState,
      restart,
      onWarning: (message) => this.warnings.push(message),
    }).run();
  }

  /** The same, of changes of the status only, if an operator is given. */
  runWith(sink: Sink<Change<Stream>>, settings: Settings): Promise<ExportReport> {
    const { version } = settings;
    const noticed = filter(({ type }: Change<Stream>) => type === 'changed');
    return this.run(
      sink,
      (changes) => (version === undefined ? changes : changes.pipePages(noticed, { version })),
      settings,
    );
  }
}

const asText = ({ key, type }: Change<Stream>) => ({ text: `${key} ${type}` });

describe.each([
  ['one state', false],
  ['two states', true],
])('W1 the program that forwards the changes of a watch is another one, with %s:', (_, isSeparate) => {
  test.each([
    ['version 2 of its operator', '1', { version: '2' }, {}],
    ['its first operator', undefined, { version: '1' }, {}],
    ['no operator any more', '1', {}, {}],
    ['a field that is ignored', '1', { version: '1', ignore: ['seen'] }, {}],
    ['a format', '1', { version: '1' }, { format: asText }],
    ['another operator and format', '1', { version: '2' }, { format: 'bare' }],
  ] as const)(
    'with %s it reports what changed in between, also if it starts over',
    async (__, version, now, format) => {
      for (const restart of [false, true]) {
        const receiver = await openReceiver();
        const watched = new Watched(isSeparate);
        await watched.runWith(webhookTo<Change<Stream>>(receiver), { version });
        const before = receiver.counts.accepted;
        watched.fail('a');
        await watched.runWith(webhookTo<Change<Stream>>(receiver, format), { ...now, restart });
        expect(receiver.counts.accepted - before).toBe(1);
        expect([...receiver.accepted.values()].at(-1)?.body).toContain('a');
        expect(watched.warnings).toEqual(restart ? [expect.stringMatching(/goes on from its snapshot/)] : []);
      }
    },
  );

  test('what it had found and not delivered is delivered by the next versions, each once', async () => {
    let answer: ReceiverAnswer = 'ok';
    const receiver = await openReceiver({ script: () => answer });
    const watched = new Watched(isSeparate);
    const run = (version: string, format?: typeof asText) =>
      watched.runWith(
        webhookTo<Change<Stream>>(receiver, { retry: { baseDelay: 1, for: 1 }, ...(format && { format }) }),
        {
          version,
        },
      );
    await run('1');
    answer = { status: 503 };
    watched.fail('a');
    await expect(run('1')).rejects.toThrow('503');
    watched.fail('b');
    await expect(run('2', asText)).rejects.toThrow('503');
    answer = 'ok';
    await run('3');
    const bodies = [...receiver.accepted.values()].map(({ body }) => body);
    // What version 2 has put into the spool keeps its text.
    expect(['a', 'b'].every((id) => bodies.some((body) => new RegExp(`"${id}("| changed")`).test(body)))).toBe(true);
    expect(receiver.counts).toMatchObject({ accepted: 2, doubled: 0 });
  });

  test('C6 the file gets the changes that follow from version 2 of an operator', async () => {
    const path = join(temporaryFolder(), 'changes.jsonl');
    const watched = new Watched(isSeparate);
    const run = (version: string, settings: Settings = {}): Promise<ExportReport> =>
      watched.run(
        jsonl<Readonly<Record<string, string>>>({ path, ifExists: 'overwrite' }),
        (changes) =>
          changes.pipePages(
            map(({ type, key }) => ({ [version]: `${type} ${key}` })),
            { version },
          ),
        settings,
      );
    const lines = (): string[] => readFileSync(path, 'utf8').trimEnd().split('\n');
    await run('1');
    watched.fail('a');
    await run('2');
    expect(lines()).toEqual(['{"1":"initial a"}', '{"1":"initial b"}', '{"2":"changed a"}']);
    // One that starts over has what changed since, and the watch starts over the next time.
    watched.fail('b');
    await run('3', { restart: true });
    expect(lines()).toEqual(['{"3":"changed b"}']);
    await run('3', { restart: true });
    expect(lines()).toEqual(['{"3":"initial a"}', '{"3":"initial b"}']);
    expect(watched.warnings).toEqual([
      expect.stringMatching(/^The target starts over with other settings \(pipePages\), and the watch goes on/),
      expect.stringMatching(/^The watch starts over: all its rows come as `initial`/),
    ]);
  });
});

test('W1 a forward to another address is refused, and what was found for the first one is not sent there', async () => {
  const [one, other] = [await openReceiver(), await openReceiver()];
  const watched = new Watched();
  await watched.runWith(webhookTo<Change<Stream>>(one), { version: '1' });
  await expect(watched.runWith(webhookTo<Change<Stream>>(other), { version: '2' })).rejects.toThrow('endpoint');
  expect(other.counts.requests).toBe(0);
});
