import { spawn } from 'node:child_process';
import { createWriteStream } from 'node:fs';
import { PassThrough, Writable } from 'node:stream';
import { gunzipSync } from 'node:zlib';
import { describe, expect, onTestFinished, test } from 'vitest';
import { exportTo, memoryState, SinkError, type ExportOptions } from '../../src/index.js';
import { streamSink } from '../../src/node/index.js';
import { systemError } from './faultyFileSystem.js';
import { pagesOf, tenPages, textFormat, textOf } from './textRows.js';

/** A stream that keeps what it is given. */
class Collector extends Writable {
  readonly chunks: Buffer[] = [];

  get bytes(): Buffer {
    return Buffer.concat(this.chunks);
  }

  override _write(chunk: Buffer, _encoding: string, done: (error?: Error) => void): void {
    this.chunks.push(chunk);
    done();
  }
}

describe('a stream', () => {
  test('gets the header and all rows, and is not ended', async () => {
    const stream = new Collector();
    const report = await exportTo(pagesOf(tenPages), streamSink(textFormat, stream)).run();
    expect(stream.bytes.toString()).toBe(textOf(tenPages));
    expect(report.bytes).toBe(stream.bytes.length);
    expect(stream.writable).toBe(true);
    expect(stream.listenerCount('error') + stream.listenerCount('close')).toBe(0);
  });

  test('E5 gets gzip members, if told to', async () => {
    const stream = new Collector();
    await exportTo(pagesOf(tenPages), streamSink(textFormat, stream, { gzip: true })).run();
    expect(gunzipSync(stream.bytes).toString()).toBe(textOf(tenPages));
  });

  test.each([false, true])('gets the header only where there are no rows (gzip: %s)', async (gzip) => {
    const stream = new Collector();
    await exportTo(pagesOf([]), streamSink(textFormat, stream, { gzip })).run();
    expect((gzip ? gunzipSync(stream.bytes) : stream.bytes).toString()).toBe('rows\n');
  });

  test('T4 whose reader never comes back is left at once when the export is stopped', async () => {
    let isWriting = false;
    const stuck = new Writable({
      write() {
        isWriting = true;
      },
    });
    const stop = new AbortController();
    const running = exportTo(pagesOf(tenPages), streamSink(textFormat, stuck)).run({ signal: stop.signal });
    await expect.poll(() => isWriting).toBe(true);
    stop.abort('enough');
    await expect(running).rejects.toBe('enough');
  });

  test('P2 that is slow holds the walk back', async () => {
    let fetched = 0;
    let written = 0;
    const ahead: number[] = [];
    const slow = new Writable({
      write(_chunk, _encoding, done) {
        // Many turns of the event loop: a walk that did not wait would be at its end by then.
        let turns = 50;
        const turn = (): void => {
          if ((turns -= 1) > 0) {
            setImmediate(turn);
            return;
          }
          ahead.push(fetched - written);
          written += 1;
          done();
        };
        turn();
      },
    });
    const pages = pagesOf(tenPages, () => (fetched += 1));
    await exportTo(pages, streamSink(textFormat, slow)).run();
    expect(written).toBe(10);
    expect(Math.max(...ahead)).toBe(2);
  });

  test('that breaks is a SinkError, and the walk stops', async () => {
    let fetched = 0;
    const broken = new Writable({
      write(_chunk, _encoding, done) {
        done(fetched >= 3 ? systemError('ECONNRESET') : undefined);
      },
    });
    const run = exportTo(
      pagesOf(tenPages, () => (fetched += 1)),
      streamSink(textFormat, broken),
    ).run();
    await expect(run).rejects.toMatchObject({ code: 'sink', details: { platformCode: 'ECONNRESET' } });
    const before = fetched;
    await new Promise((resolve) => setImmediate(resolve));
    expect(fetched).toBe(before);
    expect(fetched).toBeLessThan(6);
  });

  test('E9 whose reader went away is a SinkError with EPIPE', async () => {
    const reader = spawn('sh', ['-c', 'exec 0<&-; echo gone; exec sleep 600'], { stdio: ['pipe', 'pipe', 'ignore'] });
    onTestFinished(() => void reader.kill());
    await new Promise((resolve) => reader.stdout.once('data', resolve));
    const run = exportTo(pagesOf(tenPages), streamSink(textFormat, reader.stdin)).run();
    await expect(run).rejects.toMatchObject({ code: 'sink', details: { platformCode: 'EPIPE' } });
  });

  test.runIf(process.platform === 'linux')('E9 to a full disk is a SinkError with ENOSPC', async () => {
    const full = createWriteStream('/dev/full');
    const run = exportTo(pagesOf(tenPages), streamSink(textFormat, full)).run();
    await expect(run).rejects.toMatchObject({ code: 'sink', details: { platformCode: 'ENOSPC' } });
  });

  test('that is destroyed while it takes a page is a SinkError', async () => {
    const stuck = new Writable({
      write() {
        setImmediate(() => stuck.destroy());
      },
    });
    await expect(exportTo(pagesOf(tenPages), streamSink(textFormat, stuck)).run()).rejects.toThrow(SinkError);
  });

  test.each([
    ['ended', (stream: Writable) => stream.end()],
    ['destroyed', (stream: Writable) => stream.destroy()],
  ])('that was %s before is a SinkError', async (_how, end) => {
    const stream = new PassThrough();
    end(stream);
    await expect(exportTo(pagesOf(tenPages), streamSink(textFormat, stream)).run()).rejects.toThrow(SinkError);
  });

  test('that goes on gets no second header, and commits fall between gzip members', async () => {
    const state = memoryState();
    const stream = new Collector();
    const many = Array.from({ length: 25 }, (_, page) => [`row ${String(page)}`]);
    const options: ExportOptions = { state, commitEvery: 1, prefetch: 0 };
    const failing = pagesOf(many, (page) => {
      if (page === 17) throw new Error('the network is down');
    });
    const sink = streamSink(textFormat, stream, { gzip: true });
    await expect(exportTo(failing, sink, options).run()).rejects.toThrow('the network is down');
    await exportTo(pagesOf(many), sink, options).run();
    expect(gunzipSync(stream.bytes).toString()).toBe(textOf(many));
  });
});
