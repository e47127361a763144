import { Writable } from 'node:stream';
import { gunzipSync } from 'node:zlib';
import { testLimiter, testSink, testStateStore, type RowSamples } from '@sluice/testing';
import { describe } from 'vitest';
import { unlimited } from '../src/http/unlimited.js';
import { fileState, streamSink } from '../src/node/index.js';
import { simulatedDisk } from './node/simulatedDisk.js';
import { newProcess } from './node/simulatedExport.js';
import { textFormat } from './node/textRows.js';
import { allBut } from '../../testing/test/offering.js';
import { tableFixture } from '../../testing/test/tableSink.js';

const lines: RowSamples<string> = { row: (nth) => `row ${nth}` };

/** The rows in a file or stream of {@link textFormat}; a stream has its header again for each export that starts over. */
function linesIn(bytes: Uint8Array = new Uint8Array()): string[] {
  const text = (bytes[0] === 0x1f ? gunzipSync(bytes) : Buffer.from(bytes)).toString();
  return text.split('\n').filter((line) => line !== '' && line !== 'rows');
}

describe.each([
  ['plain', false],
  ['gzip', true],
])('G5 a stream, %s,', (_, gzip) => {
  testSink({
    ...allBut(
      'a sink that promises exactly-once',
      'a sink that refuses a target that another export is using',
      'a sink whose writer has a `start`',
      '`check` of the sink',
      '`withoutPartition` of the sink',
      '`nested` of the rows',
      gzip ? 'a sink that supports endless sources' : '`suspend` of the writer',
    ),
    rows: lines,
    factory: () => {
      const chunks: Uint8Array[] = [];
      const stream = new Writable({
        write(chunk, _encoding, done) {
          chunks.push(chunk);
          done();
        },
      });
      return { sink: () => streamSink(textFormat, stream, { gzip }), rows: () => linesIn(Buffer.concat(chunks)) };
    },
  });
});

describe('G5 a table in memory, as a database would be,', () => {
  testSink({ ...allBut(), factory: tableFixture });
});

describe('G5 state in a folder, when its machine loses power,', () => {
  testStateStore({
    ...allBut(),
    factory: () => {
      let disk = simulatedDisk();
      disk.putFolder('/data');
      // All stores of one machine run in one process here, until it stops.
      let processes = newProcess();
      const opened = () => fileState('/data/state', { fileSystem: disk, processes });
      return {
        store: opened(),
        another: opened,
        crash: () => {
          disk = disk.restart('dropped');
          processes = newProcess();
        },
      };
    },
  });
});

describe('G5 the limiter of a client without a limit', () => {
  testLimiter({
    ...allBut("a limiter that keeps 'rate'", "a limiter that keeps 'concurrency'"),
    keeps: [],
    factory: ({ clock }) => ({ limiter: unlimited(clock) }),
  });
});
