import { HttpError, PaginationError } from '@sluice/core';
import { describe, expect, test } from 'vitest';
import { runPartition, segments } from '../../src/index.js';
import type { FileSystem } from '@sluice/core/node';
import { sealRecord } from '../../src/run/decodeRecords.js';
import { MemoryHints } from './memoryHints.js';
import { folder, mergedRows, sharedDisk, TableRun } from './tableRun.js';

const longPartition = [[[[{ id: 'a' }], [{ id: 'b' }, { id: 'c' }], [{ id: 'd' }], [{ id: 'e' }]]]];

/** A changed record, with the checksum that belongs to it. */
function resealed(record: object): object {
  return sealRecord(Object.fromEntries(Object.entries(record).filter(([field]) => field !== 'sum')));
}

/** A worker that was interrupted before the fourth page of a partition. */
async function interrupted() {
  const table = new TableRun(longPartition);
  const hints = new MemoryHints();
  const disk = sharedDisk();
  const run = await table.submit(disk, hints);
  table.onFetch = (_, page) => {
    if (page === 3) throw new Error('cut off');
  };
  await expect(table.runPartition(run, 0)).rejects.toThrow('cut off');
  table.onFetch = () => undefined;
  table.fetched = 0;
  return { table, hints, disk, run };
}

describe('a worker', () => {
  test('continues where another one stopped, in a file of its own', async () => {
    const { table, disk, run, hints } = await interrupted();
    const before = disk.paths().filter((path) => path.endsWith('.jsonl'));
    const bytes = before.map((path) => disk.text(path));
    expect(await table.runPartition(run, 0)).toEqual({ outcome: 'committed', rows: 1 });
    expect(table.fetched).toBe(1);
    expect(before.map((path) => disk.text(path))).toEqual(bytes);
    expect(disk.paths().filter((path) => path.endsWith('.jsonl'))).toHaveLength(2);
    expect(await mergedRows(disk)).toEqual(table.rows);
    expect(hints.saved.size).toBe(0);
  });

  test('saves what it has when it is stopped, and requests nothing more', async () => {
    const table = new TableRun(longPartition);
    const hints = new MemoryHints();
    const run = await table.submit(sharedDisk(), hints);
    const stop = new AbortController();
    table.onFetch = (_, page) => {
      if (page === 2) stop.abort(new Error('drained'));
    };
    const { signal } = stop;
    await expect(runPartition({ run, partition: 0, signal, saveEvery: 60_000 })).rejects.toThrow('drained');
    expect(JSON.parse(hints.saved.get(0) ?? '{}')).toMatchObject({ rows: expect.any(Number) as number });
    const { fetched } = table;
    await expect(table.runPartition(run, 0, signal)).rejects.toThrow('drained');
    expect(table.fetched).toBe(fetched);
  });

  test.each<[string, (hint: string) => string | undefined]>([
    ['are lost', () => undefined],
    ['are of another plan', (hint) => hint.replace(/"plan":"./, '"plan":"x')],
    ['are not what a worker saved', () => '{}'],
    ['name another file', (hint) => hint.replaceAll(/[0-9a-f]{32}/g, '0'.repeat(32))],
    ['name a path', (hint) => hint.replaceAll(/"claim":"[0-9a-f]{32}"/g, '"claim":"../../../etc/passwd"')],
    ['name too many bytes', (hint) => hint.replace(/"bytes":\d+/, '"bytes":1000')],
    ['name other bytes', (hint) => hint.replace(/"sha256":"../, '"sha256":"00')],
    ['name other rows', (hint) => hint.replace(/(?<="sha256":"\w+","rows":)\d+/, '2')],
    ['have a position of another partition', (hint) => hint.replace('"begun":{"0"', '"begun":{"7"')],
    ['have a position that is not one', (hint) => hint.replace('"before":0', '"before":"no"')],
  ])('starts its partition over where hints %s', async (_, change) => {
    const { table, disk, run, hints } = await interrupted();
    const hint = hints.saved.get(0) ?? '';
    const changed = change(hint);
    expect(changed).not.toBe(hint);
    if (changed === undefined) hints.saved.clear();
    else hints.saved.set(0, JSON.stringify(resealed(JSON.parse(changed) as object)));
    expect(await table.runPartition(run, 0)).toEqual({ outcome: 'committed', rows: 5 });
    expect(await mergedRows(disk)).toEqual(table.rows);
  });

  test('starts its partition over where hints are damaged', async () => {
    const { table, disk, run, hints } = await interrupted();
    hints.saved.set(0, (hints.saved.get(0) ?? '').replace('"pages":3', '"pages":2'));
    expect(await table.runPartition(run, 0)).toEqual({ outcome: 'committed', rows: 5 });
    expect(await mergedRows(disk)).toEqual(table.rows);
  });

  test('starts over where the bytes of another worker have changed or are gone', async () => {
    for (const text of ['{"id":"x"}\n{"id":"b"}\n{"id":"c"}\n', '{"id":"a"}\n']) {
      const { table, disk, run } = await interrupted();
      disk.put(disk.paths().find((path) => path.endsWith('.jsonl')) ?? '', text);
      expect(await table.runPartition(run, 0)).toEqual({ outcome: 'committed', rows: 5 });
      expect(await mergedRows(disk)).toEqual(table.rows);
    }
  });

  test.each([
    ['whose cursor has expired', new PaginationError('cursor-refused', 'The cursor has expired.')],
    ['whose rows moved', new PaginationError('rows-moved', 'The rows have moved.')],
    ['whose cursor leads in a circle', new PaginationError('no-progress', 'The cursor leads in a circle.')],
  ])('K5 starts a partition over %s, three times at most', async (_, error) => {
    for (const [times, message] of [
      [3, undefined],
      [4, new RegExp(`^Partition 0 of rows started over 3 times, and can't be continued again\\. .*${error.message}$`)],
    ] as const) {
      const table = new TableRun(longPartition);
      const disk = sharedDisk();
      const run = await table.submit(disk, new MemoryHints());
      let refused = 0;
      table.onFetch = (_, page) => {
        if (page !== 2 || refused === times) return;
        refused += 1;
        throw error;
      };
      const running = table.runPartition(run, 0);
      if (message) await expect(running).rejects.toThrow(message);
      else expect((await running).outcome).toBe('committed');
      // Whoever tries next starts over, and does not begin with the cursor that has expired.
      if (message) expect((await table.runPartition(run, 0)).outcome).toBe('committed');
      expect(await mergedRows(disk)).toEqual(table.rows);
    }
  });

  test('K5 starts a partition over if the API refuses to continue where another worker stopped', async () => {
    const { table, disk, run, hints } = await interrupted();
    const saved = hints.saved.get(0) ?? '';
    for (const [status, details] of [[401], [503], [400, { means: 'renew' }]] as const) {
      table.onFetch = () => Promise.reject(new HttpError(`HTTP ${status}`, { status, excerpt: '', details }));
      await expect(table.runPartition(run, 0)).rejects.toThrow(String(status));
      expect(hints.saved.get(0)).toBe(saved);
    }
    table.onFetch = (_, page) => {
      if (page === 3 && table.fetched === 0) throw new HttpError('HTTP 404', { status: 404, excerpt: '' });
    };
    expect(await table.runPartition(run, 0)).toEqual({ outcome: 'committed', rows: 5 });
    expect(await mergedRows(disk)).toEqual(table.rows);
  });

  test.each([['tmp'], ['rows/0'], ['done/0'], ['rows'], ['done']])(
    'K1 makes the folder %s of its run again that somebody removed while it was empty',
    async (name) => {
      const table = new TableRun();
      const disk = sharedDisk();
      const run = await table.submit(disk);
      const remove = async (path: string): Promise<void> => {
        if (!disk.paths().includes(`${path}/`)) return;
        for (const inner of disk
          .paths()
          .filter((each) => each.startsWith(`${path}/`))
          .reverse())
          await (inner.endsWith('/') ? disk.removeFolder(inner.slice(0, -1)) : disk.unlink(inner));
      };
      // The worker knows them, since it has made them.
      expect((await table.runPartition(run, 0)).outcome).toBe('committed');
      await remove(`${folder}/${name}`);
      expect((await table.runPartition(run, 2)).outcome).toBe('committed');
      await remove(`${folder}/${name}`);
      const another = await segments(folder, { fileSystem: disk }).open({ 'test.rows': table.open });
      expect((await table.runPartition(another, 1)).outcome).toBe('committed');
      await new TableRun().submit(disk);
    },
  );

  test('requests nothing for a partition that is done, or of a cancelled run, and commits nothing after a cancel', async () => {
    const table = new TableRun();
    const disk = sharedDisk();
    const run = await table.submit(disk);
    await table.runPartition(run, 0);
    const { fetched } = table;
    expect(await table.runPartition(run, 0)).toEqual({ outcome: 'done', rows: 0 });
    table.onFetch = () => run.cancel();
    expect((await table.runPartition(run, 2)).outcome).toBe('cancelled');
    expect(table.fetched).toBeLessThanOrEqual(fetched + 2);
    expect(await table.runPartition(run, 1)).toEqual({ outcome: 'cancelled', rows: 0 });
    expect(await run.status()).toEqual({ partitions: 3, done: 1, rows: 3, isCancelled: true });
  });

  test('K3 claims nothing with another definition, key or source', async () => {
    const table = new TableRun();
    const disk = sharedDisk();
    const run = await table.submit(disk);
    const before = disk.fingerprint();
    for (const [definition, message] of [
      [{ identity: 'another' }, 'is not the one that was submitted to rows'],
      [{ partitions: 1 }, 'is not the one that was submitted to rows'],
      [{ schema: { columns: ['b'] } }, 'has other columns here'],
      [{ endpoint: { keyFingerprint: async () => 'a' } }, 'was submitted with another API key'],
    ] as const) {
      table.definition = definition;
      await expect(table.runPartition(run, 0)).rejects.toThrow(message);
    }
    table.definition = {};
    const other = await segments(folder, { fileSystem: disk }).open({ 'test.others': table.open });
    await expect(table.runPartition(other, 0)).rejects.toThrow(
      'needs the source test.rows, which this machine does not',
    );
    await expect(run.sourceOf(3)).rejects.toThrow('rows has no partition 3: its plan has 3, from 0.');
    expect(disk.fingerprint()).toBe(before);
    expect(table.fetched).toBe(0);
  });

  test('refuses a source that walks on behind its partition, or ends before it', async () => {
    const table = new TableRun();
    const disk = sharedDisk();
    await table.submit(disk);
    const runWith = async (pages: (source: ReturnType<TableRun['source']>) => AsyncIterable<never> | undefined) => {
      const open = ({ piece }: { piece: number }) => {
        const source = table.source(piece);
        return { info: source.info, pages: () => pages(source) ?? source.pages() };
      };
      return table.runPartition(await segments(folder, { fileSystem: disk }).open({ 'test.rows': open }), 1);
    };
    await expect(runWith(() => undefined)).rejects.toThrow("can't walk one partition by itself");
    await expect(runWith(async function* () {})).rejects.toThrow('ended before its partition did');
  });
});

describe('K6 a worker whose folder is not the one of the run claims nothing', () => {
  async function claimed(change: (disk: ReturnType<typeof sharedDisk>) => Partial<FileSystem> | undefined) {
    const disk = sharedDisk();
    const table = new TableRun();
    await table.submit(disk);
    const now: { changes?: Partial<FileSystem> | undefined } = {};
    const fileSystem = new Proxy<FileSystem>(disk, {
      get: (target, name) => Reflect.get(now.changes && name in now.changes ? now.changes : target, name) as unknown,
    });
    const run = await segments(folder, { fileSystem }).open({ 'test.rows': table.open });
    now.changes = change(disk);
    const error = await table.runPartition(run, 0).then(
      ({ outcome }) => outcome,
      (fault: unknown) => String(fault),
    );
    expect(table.fetched).toBe(0);
    return error;
  }

  test('it is not mounted', async () => {
    const error = await claimed((disk) => void disk.unlink(`${folder}/run.json`));
    expect(error).toContain('either nothing was submitted to it, or it is not mounted on this machine');
  });

  test('it is that of another run', async () => {
    const error = await claimed((disk) => {
      const record = JSON.parse(disk.text(`${folder}/run.json`) ?? '') as object;
      disk.put(`${folder}/run.json`, JSON.stringify(resealed({ ...record, id: '0'.repeat(32) })));
      return undefined;
    });
    expect(error).toContain('is the folder of another run now (rows)');
  });

  test('it has no exclusive links', async () => {
    expect(await claimed((disk) => ({ link: (from, to) => disk.rename(from, to) }))).toContain(
      'links are not exclusive',
    );
    const link = () => Promise.reject(Object.assign(new Error('no'), { code: 'EPERM' }));
    expect(await claimed(() => ({ link }))).toContain('no permission to write here');
  });

  test('it is on a network, and nobody said that it can be trusted', async () => {
    const volume = async () => ({ id: '1', kind: 'network' as const });
    expect(await claimed(() => ({ volume }))).toContain('must have exclusive links and durable syncs');
    const disk = sharedDisk();
    disk.mount('/shared', { id: '1', kind: 'network' });
    const table = new TableRun();
    await expect(table.submit(disk)).rejects.toThrow('must have exclusive links and durable syncs');
    const run = await segments(folder, { fileSystem: disk, trustFileSystem: true }).submit(table.plan);
    expect((await table.runPartition(run, 0)).outcome).toBe('committed');
    // The workers take the word of whoever submitted it.
    expect(
      (await table.runPartition(await segments(folder, { fileSystem: disk }).open({ 'test.rows': table.open }), 1))
        .outcome,
    ).toBe('committed');
  });

  test('its records are of another version of Sluice', async () => {
    const disk = sharedDisk();
    await new TableRun().submit(disk);
    const record = JSON.parse(disk.text(`${folder}/run.json`) ?? '') as object;
    const open = () => segments(folder, { fileSystem: disk }).open();
    disk.put(`${folder}/run.json`, JSON.stringify({ ...record, format: 2 }));
    await expect(open()).rejects.toThrow('has format 2, and this version of Sluice knows 1');
    disk.put(`${folder}/run.json`, JSON.stringify({ ...record, id: 'x' }));
    await expect(open()).rejects.toThrow('run.json is damaged');
    disk.put(`${folder}/run.json`, '{');
    await expect(open()).rejects.toThrow('run.json is damaged');
  });
});
