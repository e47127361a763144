import { describe, expect, test } from 'vitest';
import { startSandbox } from '../src/index.js';
import { askPage, rowsOf, texts, walk } from './ask.js';

describe('streams', () => {
  test('are listed in pages with their total', async () => {
    await using sandbox = await startSandbox({ streams: 250 });
    const pages = await walk(sandbox, 'streams');
    expect(rowsOf(pages)).toEqual(texts(sandbox.streamRows()));
    expect(pages.map(({ rows, total }) => [rows.length, total])).toEqual([
      [100, 250],
      [100, 250],
      [50, 250],
    ]);
  });

  test('stand still unless told otherwise', async () => {
    let now = 0;
    await using sandbox = await startSandbox({ now: () => now });
    const before = await askPage(sandbox, 'streams');
    now = 1_000_000;
    expect(await askPage(sandbox, 'streams')).toEqual(before);
  });

  test('change one status every statusEvery ms, the same ones with the same seed', async () => {
    let now = 100;
    const options = { statusEvery: 50, now: () => now };
    await using sandbox = await startSandbox(options);
    await using twin = await startSandbox(options);
    let before = texts(sandbox.streamRows());
    for (const at of [149, 150, 199, 200, 250]) {
      now = at;
      const after = rowsOf(await walk(sandbox, 'streams'));
      expect(after.filter((row, index) => row !== before[index])).toHaveLength(at % 50 === 0 ? 1 : 0);
      before = after;
    }
    now = 10_000;
    expect(texts(sandbox.streamRows())).toEqual(rowsOf(await walk(twin, 'streams')));
  });

  test('can be changed, added and removed while it runs', async () => {
    await using sandbox = await startSandbox({ streams: 3 });
    const [first, , third] = [...sandbox.streamRows()];
    const changed = sandbox.setStream(0, { status: 'error', statusMessage: 'by hand' });
    expect(changed).toEqual({ ...first, status: 'error', statusMessage: 'by hand' });
    const removed = sandbox.removeStream(1);
    const index = sandbox.addStream({ tag: 'new' });
    expect(index).toBe(3);
    expect(sandbox.stream(3).tag).toBe('new');

    const page = await askPage(sandbox, 'streams');
    expect(page.rows).toEqual(texts([changed, third, sandbox.stream(index)]));
    expect(page.total).toBe(3);
    expect(page.text).not.toContain(removed.id);
    expect(() => sandbox.stream(1)).toThrow('There is no stream 1');
    expect(() => sandbox.setStream(4, {})).toThrow('There is no stream 4');
  });
});

describe('moved rows', () => {
  test('make a walk see a stream twice and miss another', async () => {
    await using sandbox = await startSandbox({ streams: 20 });
    const first = await askPage(sandbox, 'streams', { limit: 10 });
    sandbox.moveRows('streams');
    const second = await askPage(sandbox, 'streams', { limit: 10, cursor: first.cursor ?? '' });
    expect(second.rows[0]).toBe(first.rows[9]);
    const seen = new Set([...first.rows, ...second.rows]);
    expect(texts(sandbox.streamRows()).filter((row) => !seen.has(row))).toEqual([JSON.stringify(sandbox.stream(19))]);
  });

  test('of holdings move within each owner, filters included', { tags: ['slow'] }, async () => {
    await using sandbox = await startSandbox({ holdings: 4_000 });
    const hash = sandbox.holding(0).collection_data_id_hash;
    const before = sandbox.owners.map((owner) => texts(sandbox.holdingsOf([owner])));
    sandbox.moveRows('aptos', 3);
    expect(rowsOf(await walk(sandbox, 'aptos'))).toEqual(
      before.flatMap((rows) => [...rows.slice(-3), ...rows.slice(0, -3)]),
    );
    const kept = texts(sandbox.holdingsOf(sandbox.owners, { include: [hash] }));
    expect(rowsOf(await walk(sandbox, 'aptos', { collection_whitelist: [hash] }))).toEqual(kept);
    expect((await askPage(sandbox, 'aptos', { offset: 4, collection_whitelist: [hash] })).rows).toEqual(
      kept.slice(4, 104),
    );
    sandbox.moveRows('aptos', -3);
    expect(rowsOf(await walk(sandbox, 'aptos'))).toEqual(before.flat());
  });
});
