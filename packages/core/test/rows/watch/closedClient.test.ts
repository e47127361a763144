import { filter } from 'rxjs';
import { expect, test } from 'vitest';
import { exportTo, memoryState, poll, watch, type StateStore } from '../../../src/index.js';
import type { PageSource } from '../../../src/kit.js';
import { startHoldings, type Row } from '../../sandboxSource.js';
import { recordingSink } from '../sink/recordingSink.js';

/** Much longer than a test. */
const every = 3_600_000;
const key = (row: Row): string => JSON.stringify(row);

/** Consumes a source, and says when it has the first result. */
type Consume = (source: PageSource<Row>, state: StateStore, onFirst: () => void) => Promise<unknown>;

test.each<[string, Consume]>([
  [
    'a watch',
    async (source, state, onFirst) => {
      for await (const { health } of watch(source, { every, key, state }).pages()) if (health?.isSynced) onFirst();
    },
  ],
  [
    'an export of a watch',
    async (source, state, onFirst) => {
      const sink = recordingSink<object>();
      sink.beforeWrite = onFirst;
      await exportTo(watch(source, { every, key, state }), sink, { state }).run();
    },
  ],
  [
    'a poll',
    async (source, _, onFirst) => {
      for await (const { rows } of poll(source, { every, onFailure: () => undefined })) if (rows.length > 0) onFirst();
    },
  ],
])('C9 %s ends as soon as its client is closed, and lets its state go', async (_, consume) => {
  for (const isPiped of [false, true]) {
    const { client, list } = await startHoldings({ holdings: 20 });
    const operator = filter<Row>(() => true);
    const source = isPiped ? list().pipePages(operator, { version: '1', schema: { columns: ['name'] } }) : list();
    const state = memoryState();
    let end: Promise<unknown> = Promise.resolve();
    await new Promise<void>((resolve, reject) => {
      end = consume(source, state, resolve);
      end.catch(reject);
    });
    await client.close();
    await expect(end).rejects.toThrow('because the client was closed. Create a new client to continue.');
    await expect(end).rejects.toMatchObject({ code: 'network', details: { isClosed: true } });
    // A later consumer ends with its first request.
    await expect(consume(source, memoryState(), () => undefined)).rejects.toMatchObject({
      details: { isClosed: true },
    });
    const { signal } = new AbortController();
    for (const use of ['watch', 'export'] as const) await (await state.lock(signal, use))();
  }
});
