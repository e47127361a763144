// @module-tag slow
import { describe } from 'vitest';
import { sampleRows, testSink, testStateStore, type RowSamples, type SampleRow } from '@sluice/testing';
import { allBut } from '../../testing/test/offering.js';
import { someOf } from '../../../scripts/testEffort.js';
import { databaseKinds } from './databases.js';

const asText: RowSamples<SampleRow> = {
  ...sampleRows,
  readBack: ({ id, name, amount, note }) => ({
    id,
    name,
    amount: String(amount),
    note: typeof note === 'object' && note !== null ? JSON.stringify(note) : note,
  }),
};

describe.each(someOf(databaseKinds))('G5 D1 a table of $name', ({ open }) => {
  testSink({
    ...allBut(
      'a sink whose checkpoints are kept elsewhere',
      'a sink that refuses a target that another export is using',
      'a sink that supports endless sources',
    ),
    rows: asText,
    factory: async () => {
      const database = await open();
      await database.createRows();
      return {
        sink: () => database.sink<SampleRow>({ table: 'rows' }),
        rows: () => database.query(`SELECT id, name, amount, note FROM rows ORDER BY ${database.order}`),
      };
    },
  });
});

describe.each(someOf(databaseKinds))('G5 D1 the checkpoints in $name', ({ open }) => {
  testStateStore({
    ...allBut(),
    factory: async () => {
      const database = await open();
      const stateOf = () => {
        const { state } = database.sink({ table: 'rows' });
        if (!state) throw new Error('The sink keeps no checkpoints.');
        return state;
      };
      return { store: stateOf(), another: stateOf };
    },
  });
});
