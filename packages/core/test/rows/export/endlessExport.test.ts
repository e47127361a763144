import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import {
  exportTo,
  memoryState,
  SinkError,
  watch,
  type Change,
  type Page,
  type StateStore,
} from '../../../src/index.js';
import type { PageSource, SinkContext, SinkWriter } from '../../../src/kit.js';
import { fileSink, nodeFileSystem, type FileSystem } from '../../../src/node/index.js';
import { temporaryFolder } from '../../../../../test/kit/temporaryFolder.js';
import { textFormat, textOf } from '../../node/textRows.js';
import { changeLines } from '../watch/changeLines.js';
import { Listing, rowsOf, type Row } from '../watch/listing.js';
import { SkippingClock } from '../watch/skippingClock.js';
import { recordingSink } from '../sink/recordingSink.js';

/** Pages without an end, of which some ask for a commit. `onPage` is told before each. */
function endless(
  asks: (page: number) => boolean,
  onPage: (page: number) => void = () => undefined,
): PageSource<string> {
  return {
    info: { name: 'endless', identity: null, partitions: 1, isEndless: true },
    async *pages(): AsyncGenerator<Page<string>> {
      for (let index = 0; ; index += 1) {
        onPage(index);
        const position = { before: 0, begun: {}, rows: index, pages: index };
        const page = { items: [`row ${String(index)}`], position, index, partition: 0, endsPartition: false };
        yield await Promise.resolve(asks(index) ? { ...page, commit: true as const } : page);
      }
    },
  };
}

/** The text of a file with so many rows of {@link endless}. */
const rows = (count: number): string => textOf([Array.from({ length: count }, (_, index) => `row ${String(index)}`)]);

describe('an export of what never ends, without state of its own', () => {
  test('C6 keeps in the file what a watch with state takes for taken, when it is stopped', async () => {
    const listing = new Listing(rowsOf('a', 'b', 'c'));
    const state = memoryState();
    const watched = (polls?: number): PageSource<Change<Row>> =>
      watch(listing.source(), { every: 1_000, clock: new SkippingClock(), state, ...(polls && { polls }) });
    const path = join(temporaryFolder(), 'changes.txt');
    const stop = new AbortController();
    let pages = 0;
    const onProgress = (): void => {
      pages += 1;
      if (pages === 1) listing.set('b', 'error');
      if (pages === 3) stop.abort('enough');
    };
    const running = exportTo(watched(), fileSink(changeLines, { path })).run({ signal: stop.signal, onProgress });
    await expect(running).rejects.toBe('enough');
    // Each change is in the file, or comes again.
    const told = readFileSync(path, 'utf8')
      .split('\n')
      .filter((line) => line !== '');
    expect(told).toHaveLength(4);
    const again = recordingSink<Change<Row>>();
    await exportTo(watched(1), again).run();
    expect(again.rows).toEqual([]);
  });

  test('makes rows durable where a page asks for that, before it asks for the next one', async () => {
    const sink = recordingSink<string>();
    const source = endless(
      (page) => page % 2 === 1,
      (page) => {
        sink.calls.push(`page ${String(page)}`);
        if (page === 4) throw new Error('gone');
      },
    );
    await expect(exportTo(source, sink, { commitEvery: 50 }).run()).rejects.toThrow('gone');
    expect(sink.calls).toEqual([
      'open',
      'page 0',
      'write',
      'page 1',
      'write',
      'flush',
      'page 2',
      'write',
      'page 3',
      'write',
      'flush',
      'page 4',
      'abort',
    ]);
    expect(sink.aborted).toMatchObject({ isResumable: true });
  });

  test('keeps what no page asked a commit for, however it ends', async () => {
    const stopped = join(temporaryFolder(), 'rows.txt');
    const stop = new AbortController();
    const running = exportTo(
      endless(() => false),
      fileSink(textFormat, { path: stopped }),
    ).run({
      signal: stop.signal,
      onProgress: (progress) => {
        if (progress.rows === 3) stop.abort('enough');
      },
    });
    await expect(running).rejects.toBe('enough');
    expect(readFileSync(stopped, 'utf8')).toBe(rows(3));

    const failed = join(temporaryFolder(), 'rows.txt');
    const failing = endless(
      () => false,
      (page) => {
        if (page === 5) throw new Error('gone');
      },
    );
    await expect(exportTo(failing, fileSink(textFormat, { path: failed })).run()).rejects.toThrow('gone');
    expect(readFileSync(failed, 'utf8')).toBe(rows(5));
  });

  test('keeps what is durable when the sink fails, and asks nothing more of that sink', async () => {
    let writes = 0;
    const failing: FileSystem = {
      ...nodeFileSystem,
      open: async (name, mode) => {
        const file = await nodeFileSystem.open(name, mode);
        return {
          ...file,
          write: (bytes, position) =>
            (writes += 1) === 3 ? Promise.reject(new Error('worn out')) : file.write(bytes, position),
        };
      },
    };
    const path = join(temporaryFolder(), 'rows.txt');
    const sink = fileSink<string>(textFormat, { path, fileSystem: failing });
    const running = exportTo(
      endless((page) => page === 0),
      sink,
      { commitEvery: 1 },
    ).run();
    await expect(running).rejects.toThrow(SinkError);
    expect(readFileSync(path, 'utf8')).toBe(rows(2));

    const unwritable = recordingSink<string>();
    unwritable.beforeWrite = () => {
      if (unwritable.rows.length === 2) throw new Error('broken');
    };
    await expect(
      exportTo(
        endless(() => false),
        unwritable,
        { commitEvery: 50 },
      ).run(),
    ).rejects.toThrow('broken');
    expect(unwritable.calls).toEqual(['open', 'write', 'write', 'write', 'abort']);

    const unflushable = recordingSink<string>();
    const open = async (context: SinkContext<string>): Promise<SinkWriter<string>> => ({
      ...(await unflushable.open(context)),
      flush: () => {
        unflushable.calls.push('flush');
        return Promise.reject(new Error('broken'));
      },
    });
    await expect(
      exportTo(
        endless(() => true),
        { ...unflushable, open },
      ).run(),
    ).rejects.toThrow('broken');
    expect(unflushable.calls).toEqual(['open', 'write', 'flush', 'abort']);
  });

  test('leaves no file where nothing was written', async () => {
    const path = join(temporaryFolder(), 'rows.txt');
    const source = endless(
      () => true,
      () => {
        throw new Error('gone');
      },
    );
    await expect(exportTo(source, fileSink(textFormat, { path })).run()).rejects.toThrow('gone');
    expect(readdirSync(join(path, '..'))).toEqual([]);
  });
});

test('an export of what never ends lets go of its lock only when its source has let go of its own', async () => {
  const order: string[] = [];
  const kept = memoryState();
  const state: StateStore = {
    ...kept,
    lock: async (signal, use) => {
      const release = await kept.lock(signal, use);
      return async () => {
        order.push('the export let go');
        await release();
      };
    },
  };
  const { info, pages } = endless(() => true);
  const slow: PageSource<string> = {
    info,
    pages: () => {
      const walk = pages()[Symbol.asyncIterator]();
      return {
        [Symbol.asyncIterator]: () => ({
          next: () => walk.next(),
          return: async () => {
            for (let turn = 0; turn < 100; turn += 1) await new Promise((resolve) => setImmediate(resolve));
            order.push('the source let go');
            return { done: true, value: undefined };
          },
        }),
      };
    },
  };
  const stop = new AbortController();
  const onProgress = (): void => stop.abort('enough');
  await expect(
    exportTo(slow, recordingSink<string>(), { state }).run({ signal: stop.signal, onProgress }),
  ).rejects.toBe('enough');
  expect(order).toEqual(['the source let go', 'the export let go']);
});

test('an export that does end is still cleared away without state, as nobody could go on with it', async () => {
  const path = join(temporaryFolder(), 'rows.txt');
  const { pages } = endless(
    () => true,
    (page) => {
      if (page === 3) throw new Error('gone');
    },
  );
  const source = { info: { name: 'ends', identity: null, partitions: 1 }, pages };
  await expect(exportTo(source, fileSink(textFormat, { path })).run()).rejects.toThrow('gone');
  expect(readdirSync(join(path, '..'))).toEqual([]);
});
