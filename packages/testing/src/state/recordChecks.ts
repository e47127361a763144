import { catchFailure, check, checkSame } from '../check.js';
import type { Checks } from '../suite.js';
import { awkwardRecords, createUnsaveable } from './awkwardRecords.js';
import type { OpenedState } from './openedState.js';

/** Named records. */
export const recordChecks: Checks<OpenedState> = {
  'has no record under an unused name': async ({ store }) => {
    await store.save('checkpoint', { v: 1 });
    for (const name of ['watch', 'constructor'])
      check(
        (await store.load(name)) === undefined,
        `There is a record "${name}", but nothing was saved under that name.`,
      );
  },

  'returns records as they were saved': async ({ store }) => {
    for (const record of awkwardRecords) {
      await store.save('checkpoint', record);
      checkSame(await store.load('checkpoint'), record, 'A record that was saved and loaded');
      checkSame(await store.load('checkpoint'), record, 'A record that was loaded again');
    }
  },

  'replaces a record completely, and leaves others alone': async ({ store }) => {
    await store.save('checkpoint', { old: true, rows: 1 });
    await store.save('watch', { rows: 7 });
    await store.save('checkpoint', { rows: 2 });
    checkSame(await store.load('checkpoint'), { rows: 2 }, 'A record that replaced another one');
    checkSame(await store.load('watch'), { rows: 7 }, 'A record beside one that was replaced');
  },

  'removes a record, and leaves others alone': async ({ store }) => {
    await store.save('checkpoint', { rows: 1 });
    await store.save('watch', { rows: 7 });
    await store.remove('checkpoint');
    check((await store.load('checkpoint')) === undefined, 'A record that was removed is still there.');
    checkSame(await store.load('watch'), { rows: 7 }, 'A record beside one that was removed');
    // A process that was killed after the removal removes it again.
    await store.remove('checkpoint');
    await store.save('checkpoint', { rows: 2 });
    checkSame(await store.load('checkpoint'), { rows: 2 }, 'A record that was removed and saved again');
  },

  'keeps a record even if the object is changed later': async ({ store }) => {
    const rows = [1, 2];
    const record = { rows };
    await store.save('checkpoint', record);
    rows.push(3);
    checkSame(await store.load('checkpoint'), { rows: [1, 2] }, 'A record whose object was changed when it was saved');
    const loaded = await store.load('checkpoint');
    if (typeof loaded === 'object' && loaded !== null) Object.assign(loaded, { rows: [] });
    checkSame(await store.load('checkpoint'), { rows: [1, 2] }, 'A record whose object was changed when it was loaded');
  },

  'stores a record as JSON': async ({ store }) => {
    const record = { at: new Date(0), none: undefined, list: [undefined, NaN], kept: 'yes' };
    await store.save('checkpoint', record);
    const loaded = await store.load('checkpoint');
    const isText = typeof loaded === 'object' && loaded !== null && 'at' in loaded && typeof loaded.at === 'string';
    check(isText, 'A date must be returned as a string, as in JSON, because that is what the next process gets.');
    checkSame(loaded, record, 'A record with values that JSON converts');
  },

  'keeps the previous record if a new one cannot be saved': async ({ store }) => {
    await store.save('checkpoint', { rows: 1 });
    const failure = await catchFailure(() => store.save('checkpoint', createUnsaveable()));
    check(failure !== undefined, 'A record that has no form in JSON must be refused, but was saved.');
    checkSame(await store.load('checkpoint'), { rows: 1 }, 'The previous record of one that could not be saved');
  },

  'still has its records in the next process': async (state) => {
    await state.store.save('replaced', { rows: 1 });
    await state.store.save('removed', { rows: 1 });
    await state.store.save('kept', awkwardRecords[1] ?? {});
    await state.store.save('replaced', { rows: 2 });
    await state.store.remove('removed');
    await state.nextProcess();
    checkSame(await state.store.load('kept'), awkwardRecords[1], 'A record in the next process');
    checkSame(await state.store.load('replaced'), { rows: 2 }, 'A record that was replaced, in the next process');
    check(
      (await state.store.load('removed')) === undefined,
      'A record that was removed is there again in the next process.',
    );
  },
};
