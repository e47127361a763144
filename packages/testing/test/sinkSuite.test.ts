import { expect, test } from 'vitest';
import type { SinkContext } from '@sluice/core/kit';
import { testSink, type SinkFixture } from '../src/index.js';
import { testMutants } from './caughtMutants.js';
import { sinkMutants } from './mutants/sinkMutants.js';
import { RecordedSuite } from './recordedSuite.js';
import { Table, tableFixture, tableSink } from './tableSink.js';

test('G5 the suite passes a sink that does all that a sink may do, and skips nothing', { tags: ['slow'] }, async () => {
  const suite = new RecordedSuite((options) => {
    testSink({ ...options, factory: tableFixture });
  });
  expect(await suite.verdicts()).toEqual({});
  expect(suite.skipped).toEqual([]);
});

test('G5 what a sink throws by mistake is told with the call, and with what that has to do', async () => {
  const thrown = new TypeError('note is not a function');
  const suite = new RecordedSuite((options) => {
    const factory = (): SinkFixture<unknown> => {
      const table = new Table();
      const sink = tableSink(table);
      const open = async (context: SinkContext<unknown>) => ({
        ...(await sink.open(context)),
        write: () => Promise.reject(thrown),
      });
      return { sink: () => ({ ...sink, open }), rows: () => table.rows };
    };
    testSink({ ...options, factory });
  });
  expect(await suite.verdictOf('has the rows of a page with more than a thousand')).toMatch(
    /^write failed for no reason: it must take a page of 1200 rows of partition 0, the first of which is \{.*\}\. It threw TypeError: note is not a function$/,
  );
});

testMutants('sink', sinkMutants, (options) => {
  testSink(options);
});
