import { catchFailure, check, checkRows, checkSame } from '../check.js';
import { awkwardRecords, createUnsaveable } from './awkwardRecords.js';
import { readRecords, type OpenedState } from './openedState.js';
import type { Checks } from '../suite.js';

/** Records in order. A log is read before any other use, as exports and watches do. */
export const logChecks: Checks<OpenedState> = {
  'has an empty log until something is appended': async (state) => {
    const log = state.unreadLog();
    checkRows(await readRecords(log), [], 'A new log');
    checkSame(log.bytes, 0, 'The bytes of a log without records');
  },

  'reads a log in the order in which it was written': async (state) => {
    const log = await state.log();
    for (const record of awkwardRecords) await log.append(record);
    checkRows(await readRecords(log), awkwardRecords, 'A log, read by its writer');
    await log.append({ nth: 7 });
    await log.close();
    checkRows(await state.logged(), [...awkwardRecords, { nth: 7 }], 'A log that was closed, and read again');
  },

  'appends to a log that was read': async (state) => {
    for (const nth of [1, 2]) {
      const log = await state.log();
      await log.append({ nth });
      await log.close();
    }
    checkRows(
      await state.logged(),
      [{ nth: 1 }, { nth: 2 }],
      'A log that was written by two processes, one after the other',
    );
  },

  'replaces all records of a log, and appends after them': async (state) => {
    const log = await state.log();
    for (const nth of [1, 2, 3]) await log.append({ nth });
    await log.replace(numberRecords(10, 3));
    await log.append({ nth: 20 });
    await log.close();
    checkRows(await state.logged(), [{ nth: 10 }, { nth: 11 }, { nth: 12 }, { nth: 20 }], 'A log that was replaced');
    const again = await state.log();
    await again.replace([]);
    checkRows(await readRecords(again), [], 'A log whose records were replaced by none');
    await again.replace(numberRecords(0, 2_000));
    checkRows(await readRecords(again), [...numberRecords(0, 2_000)], 'A log that was replaced by 2,000 records');
  },

  'keeps all records of a log that cannot be replaced': async (state) => {
    const log = await state.log();
    for (const nth of [1, 2]) await log.append({ nth });
    for (const broken of [failAfterFirst(3), [{ nth: 3 }, createUnsaveable()]]) {
      const failure = await catchFailure(() => log.replace(broken));
      check(failure !== undefined, 'A replacement that failed in the middle must be refused.');
      checkRows(await state.logged(), [{ nth: 1 }, { nth: 2 }], 'A log that could not be replaced');
    }
    const again = await state.log();
    await again.append({ nth: 3 });
    checkRows(
      await readRecords(again),
      [{ nth: 1 }, { nth: 2 }, { nth: 3 }],
      'A log that could not be replaced, and was appended to',
    );
  },

  'keeps a logged record even if the object is changed later': async (state) => {
    const log = await state.log();
    const record = { rows: [1] };
    await log.append(record);
    record.rows.push(2);
    const [loaded] = await readRecords(log);
    checkSame(loaded, { rows: [1] }, 'A logged record whose object was changed');
    if (typeof loaded === 'object' && loaded !== null) Object.assign(loaded, { rows: [] });
    checkRows(await readRecords(log), [{ rows: [1] }], 'A logged record whose object was changed when it was read');
  },

  'removes a log, which can start over': async (state) => {
    const log = await state.log();
    await log.append({ nth: 1 });
    await log.remove();
    checkSame(log.bytes, 0, 'The bytes of a log that was removed');
    checkRows(await state.logged(), [], 'A log that was removed');
    // A process that was killed after the removal removes it again.
    await log.remove();
    await log.append({ nth: 2 });
    checkRows(await readRecords(log), [{ nth: 2 }], 'A log that was removed, and started over');
  },

  'separates logs and records': async (state) => {
    const one = await state.log('watch');
    const other = await state.log('spool');
    await one.append({ of: 'one' });
    await other.append({ of: 'other' });
    await state.store.save('watch', { of: 'record' });
    checkRows(await readRecords(one), [{ of: 'one' }], 'A log beside another one');
    checkRows(await readRecords(other), [{ of: 'other' }], 'The other log');
    checkSame(await state.store.load('watch'), { of: 'record' }, 'A record with the name of a log');
    await one.remove();
    checkSame(await state.store.load('watch'), { of: 'record' }, 'A record with the name of a log that was removed');
    checkRows(await readRecords(other), [{ of: 'other' }], 'A log beside one that was removed');
  },

  'reports how many bytes a log takes': async (state) => {
    const log = await state.log();
    await log.append({ nth: 1 });
    const one = log.bytes;
    await log.append({ text: 'x'.repeat(1_000) });
    const two = log.bytes;
    check(
      one > 0 && two >= one + 1_000,
      `A log took ${one} bytes, and ${two} when it had a record of 1,000 characters more.`,
    );
    await log.close();
    const again = state.unreadLog();
    checkSame(again.bytes, 0, 'The bytes of a log before it was read');
    await readRecords(again);
    checkSame(again.bytes, two, 'The bytes of a log that was read again');
    await again.replace([{ nth: 1 }]);
    checkSame(again.bytes, one, 'The bytes of a log whose records were replaced by the first of them');
  },

  'still has its logs in the next process': async (state) => {
    const kept = await state.log('kept');
    const replaced = await state.log('replaced');
    const removed = await state.log('removed');
    for (const log of [kept, replaced, removed]) for (const nth of [1, 2]) await log.append({ nth });
    await replaced.replace([{ nth: 3 }]);
    await replaced.append({ nth: 4 });
    await removed.remove();
    for (const log of [kept, replaced, removed]) await log.close();
    await state.nextProcess();
    checkRows(await state.logged('kept'), [{ nth: 1 }, { nth: 2 }], 'A log in the next process');
    checkRows(await state.logged('replaced'), [{ nth: 3 }, { nth: 4 }], 'A log that was replaced, in the next process');
    checkRows(await state.logged('removed'), [], 'A log that was removed, in the next process');
  },
};

function* numberRecords(from: number, count: number): Generator<object> {
  for (let nth = from; nth < from + count; nth += 1) yield { nth };
}

/** Records that fail after the first. */
function* failAfterFirst(from: number): Generator<object> {
  yield { nth: from };
  throw new Error('The check lets the next record fail.');
}
