import { describe } from 'vitest';
import type { Sink } from '@sluice/core';
import type { SinkContext, SinkPage, SinkWriter } from '@sluice/core/kit';
import { sampleRows, testSink, type RowSamples, type SampleRow } from '@sluice/testing';
import { csv } from '@sluice/exporters/csv';
import { parquet } from '@sluice/exporters/parquet';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { allBut } from '../../testing/test/offering.js';
import { cellFor, readCsv } from './readCsv.js';
import { temporaryFolder } from '../../../test/kit/temporaryFolder.js';
import { readParquet, typedRows } from './readParquet.js';
import { openReceiver, webhookTo } from './webhook/forwarding.js';

const cells: RowSamples<SampleRow> = { ...sampleRows, readBack: (row) => Object.values(row).map(cellFor) };
// `npm run prove -- worlds --suites 9` runs it for other files, whose machine loses power.
describe('G5 a CSV file on the disk of this machine', () => {
  testSink({
    ...allBut('a sink whose writer has a `start`'),
    rows: cells,
    factory: () => {
      const path = join(temporaryFolder(), 'rows.csv');
      return { sink: () => csv({ path }), rows: () => readCsv(readFileSync(path, 'utf8')).slice(1) };
    },
  });
});

describe('G5 a Parquet file on the disk of this machine', { tags: ['slow'] }, () => {
  testSink({
    ...allBut('a sink whose writer has a `start`', 'a sink that supports endless sources'),
    rows: typedRows,
    factory: () => {
      const path = join(temporaryFolder(), 'rows.parquet');
      return { sink: () => parquet({ path }), rows: () => readParquet(path) };
    },
  });
});

describe('G5 a webhook', { tags: ['slow'] }, () => {
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
      // Of a source without end, committed rows may be in the spool.
      const spooled = new Set<string>();
      const receiver = await openReceiver({
        onRequest: ({ body }) => void delivered.push((JSON.parse(body) as { readonly data: unknown }).data),
      });
      // Rows with different keys may come in any order, unless they go one by one.
      const sink = (): Sink<SampleRow> => {
        const sink = webhookTo<SampleRow>(receiver, { deliveries: 1 });
        const open = async (context: SinkContext<SampleRow>): Promise<SinkWriter<SampleRow>> => {
          const writer = await sink.open(context);
          if (!context.isEndless) return writer;
          const write = writer.write.bind(writer);
          return Object.assign(writer, {
            write(page: SinkPage<SampleRow>): Promise<void> {
              for (const row of page.items) spooled.add(JSON.stringify(row));
              return write(page);
            },
          });
        };
        return { ...sink, open };
      };
      return {
        sink,
        async rows() {
          await receiver.until(() => new Set(delivered.map((row) => JSON.stringify(row))).size >= spooled.size);
          return delivered;
        },
      };
    },
  });
});
