import { describe } from 'vitest';
import { gunzipSync } from 'node:zlib';
import { sampleRows, testSink, type RowSamples, type SampleRow, type SinkFixture } from '@sluice/testing';
import type { Sink } from '@sluice/core';
import type { FileSystem } from '@sluice/core/node';
import { csv } from '@sluice/exporters/csv';
import { jsonl } from '@sluice/exporters/jsonl';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { simulatedDisk } from '../../core/test/node/simulatedDisk.js';
import { allBut } from '../../testing/test/offering.js';
import { cellFor, readCsv } from './readCsv.js';
import { temporaryFolder } from '../../../test/kit/temporaryFolder.js';
import { openReceiver, webhookTo } from './webhook/forwarding.js';

type FileSinkOf = (target: { readonly path: string; readonly fileSystem: FileSystem }) => Sink<SampleRow>;

/** A file on a disk that loses what is not durable. */
function onSimulatedDisk(sinkOf: FileSinkOf, name: string, read: (text: string) => unknown[]): SinkFixture<SampleRow> {
  const path = `/data/${name}`;
  let disk = simulatedDisk();
  disk.putFolder('/data');
  return {
    sink: () => sinkOf({ path, fileSystem: disk }),
    rows: () => read(textOf(disk.bytes(path))),
    crash: () => {
      disk = disk.restart('dropped');
    },
  };
}

/** What is in a file, unpacked. */
function textOf(bytes: Uint8Array = new Uint8Array()): string {
  return (bytes[0] === 0x1f ? gunzipSync(bytes) : Buffer.from(bytes)).toString();
}

const cells: RowSamples<SampleRow> = { ...sampleRows, readBack: (row) => Object.values(row).map(cellFor) };
const readRecords = (text: string): unknown[] => readCsv(text).slice(1);
const readLines = (text: string): unknown[] =>
  text
    .split('\n')
    .slice(0, -1)
    .map((line): unknown => JSON.parse(line));

const noStart = 'a sink whose writer has a `start`';
const noEndless = 'a sink that supports endless sources';

describe('G5 a CSV file on the disk of this machine', () => {
  testSink({
    ...allBut(noStart),
    rows: cells,
    factory: () => {
      const path = join(temporaryFolder(), 'rows.csv');
      return { sink: () => csv({ path }), rows: () => readRecords(textOf(readFileSync(path))) };
    },
  });
});

describe.each([
  ['rows.csv', noStart],
  ['rows.csv.gz', noStart, noEndless],
])('G5 the file %s, when its machine loses power', (name, ...missing) => {
  testSink({ ...allBut(...missing), rows: cells, factory: () => onSimulatedDisk(csv, name, readRecords) });
});

describe.each([
  ['rows.jsonl', noStart],
  ['rows.jsonl.gz', noStart, noEndless],
])('G5 the file %s, when its machine loses power', (name, ...missing) => {
  testSink({ ...allBut(...missing), factory: () => onSimulatedDisk(jsonl, name, readLines) });
});

describe('G5 a webhook', () => {
  testSink({
    ...allBut(
      'a sink that promises exactly-once',
      'a sink that refuses a target that another export is using',
      '`withoutPartition` of the sink',
      // Rows become events, which have names.
      'a sink that takes rows without a key',
    ),
    factory: async () => {
      const delivered: unknown[] = [];
      const receiver = await openReceiver({
        onRequest: ({ body }) => void delivered.push((JSON.parse(body) as { readonly data: unknown }).data),
      });
      // Rows with different keys may come in any order, unless they go one by one.
      return { sink: () => webhookTo<SampleRow>(receiver, { deliveries: 1 }), rows: () => delivered };
    },
  });
});
