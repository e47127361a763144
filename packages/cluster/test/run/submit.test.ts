import { map } from 'rxjs';
import { ConfigError, type Json } from '@sluice/core';
import { describe, expect, test } from 'vitest';
import { segments } from '../../src/index.js';
import type { RunPlan } from '../../src/run/run.js';
import { folder, sharedDisk, TableRun } from './tableRun.js';

/** Submits a changed plan to a folder that has one. */
async function resubmitted(change: (table: TableRun) => Partial<RunPlan>, isComplete = true): Promise<unknown> {
  const disk = sharedDisk();
  const table = new TableRun();
  await table.submit(disk);
  if (!isComplete) await disk.unlink(`${folder}/plan/complete`);
  const before = disk.fingerprint();
  const submit = segments(folder, { fileSystem: disk }).submit({ ...table.plan, ...change(table) });
  const error: unknown = await submit.then(
    () => undefined,
    (fault: unknown) => fault,
  );
  if (isComplete) expect(disk.fingerprint()).toBe(before);
  return error;
}

describe('submitting a plan', () => {
  test('K4 a plan that was submitted before is found again, and unchanged', async () => {
    expect(await resubmitted(() => ({}))).toBeUndefined();
    expect(await resubmitted(() => ({}), false)).toBeUndefined();
  });

  test.each<[string, Json[]]>([
    ['other', [{ piece: 0 }, { piece: 0 }]],
    ['more', [{ piece: 0 }, { piece: 1 }, { piece: 0 }]],
    ['fewer', [{ piece: 0 }]],
  ])('K4 %s parameters are refused, also where the plan is not complete', async (_, params) => {
    for (const isComplete of [true, false]) {
      const error = await resubmitted(() => ({ params }), isComplete);
      expect(error).toBeInstanceOf(ConfigError);
      expect(String(error)).toContain('has another plan');
    }
  });

  test('K4 plans of several chunks differ, too, if one is the beginning of the other', async () => {
    const table = new TableRun([[...Array.from({ length: 600 }, () => [[{ id: 'a' }]])]]);
    const pieces = (count: number): Json[] => Array.from({ length: count }, () => ({ piece: 0 }));
    const disk = sharedDisk();
    const submit = (count: number) =>
      segments(folder, { fileSystem: disk }).submit({ ...table.plan, params: pieces(count) });
    const run = await submit(3);
    expect(run.partitions).toBe(1_800);
    expect(disk.paths().filter((path) => path.startsWith(`${folder}/plan/`))).toHaveLength(5);
    expect(await run.sourceOf(1_799)).toMatchObject({ partition: 599 });
    await disk.unlink(`${folder}/plan/complete`);
    await expect(submit(2)).rejects.toThrow('with more partitions than these 1200');
    expect((await submit(3)).partitions).toBe(1_800);
  });

  test('K4 two machines that submit the same plan at once get one run', async () => {
    const disk = sharedDisk();
    const runs = await Promise.all([1, 2, 3].map(() => new TableRun().submit(disk)));
    expect(new Set(runs.map(({ header }) => header.id)).size).toBe(1);
  });

  test('K4 a plan that another machine stored, and did not live to make durable, is durable once it is submitted', async () => {
    let last = 0;
    for (let diesAt = 1; last >= diesAt - 1; diesAt += 1) {
      const disk = sharedDisk();
      const table = new TableRun();
      last = 0;
      // It dies as it syncs a folder: the name is there, and would not survive a power cut.
      const died = new Promise<'died'>((resolve) => {
        const syncFolder = (path: string): Promise<void> => {
          last += 1;
          if (last < diesAt) return disk.syncFolder(path);
          resolve('died');
          return new Promise(() => undefined);
        };
        void segments(folder, { fileSystem: { ...disk, syncFolder } })
          .submit(table.plan)
          .then(() => resolve('died'));
      });
      await died;
      const { partitions } = await table.submit(disk);
      const run = segments(folder, { fileSystem: disk.restart('dropped') }).open({ 'test.rows': table.open });
      await expect(run, `died at sync ${diesAt}`).resolves.toMatchObject({ partitions });
    }
    expect(last).toBeGreaterThan(5);
  });

  test('K3 another source, name, column or key is refused', async () => {
    expect(String(await resubmitted(() => ({ name: 'others' })))).toContain('is the folder of rows (test.rows)');
    expect(String(await resubmitted(() => ({ source: 'test.others' })))).toContain('is the folder of rows (test.rows)');
    const redefined = (definition: TableRun['definition']) => (table: TableRun) => {
      table.definition = definition;
      return {};
    };
    expect(String(await resubmitted(redefined({ schema: { columns: ['id', 'b'] } })))).toContain('other columns here');
    expect(String(await resubmitted(redefined({ schema: { columns: ['id'], types: { id: 'json' } } })))).toContain(
      'other types here',
    );
    const endpoint = { keyFingerprint: async () => 'another' };
    expect(String(await resubmitted(redefined({ endpoint })))).toContain('with another API key');
    expect(String(await resubmitted(redefined({ identity: 'another' })))).toContain('has another plan');
  });

  test.each([
    ['maxRows', 'maxRows bounds its rows', { maxRows: 5 }],
    ['partitions that are discovered', 'discovers its partitions', { partitions: Infinity }],
    ['a piece that is too large', 'a piece of the plan has 1001 partitions', { partitions: 1_001 }],
  ])('K3 a source with %s is refused', async (_, message, definition) => {
    const table = new TableRun();
    table.definition = definition;
    await expect(table.submit(sharedDisk())).rejects.toThrow(message);
  });

  test('K3 an operator without a version is refused, and one with a version is not', async () => {
    const table = new TableRun();
    const submit = (options: object) =>
      segments(folder, { fileSystem: sharedDisk() }).submit({
        ...table.plan,
        open: () =>
          table.source(0).pipePages(
            map((row) => row),
            options,
          ),
      });
    await expect(submit({})).rejects.toThrow('an operator of pipePages has no version');
    expect((await submit({ version: '1' })).partitions).toBe(4);
  });

  test('an empty plan, and a folder of something else, are refused', async () => {
    const table = new TableRun();
    const disk = sharedDisk();
    await expect(segments(folder, { fileSystem: disk }).submit({ ...table.plan, params: [] })).rejects.toThrow(
      'The plan of rows is empty',
    );
    disk.put(`${folder}/holiday.jpg`, '');
    await expect(table.submit(disk)).rejects.toThrow(`${folder} has other files (holiday.jpg). Give an empty folder.`);
    expect(() => segments('')).toThrow('The path of the folder is empty.');
  });

  test('K4 a run is opened only when its plan is complete', async () => {
    const disk = sharedDisk();
    const open = () => segments(folder, { fileSystem: disk }).open();
    await expect(open()).rejects.toThrow('has no run.json');
    await new TableRun().submit(disk);
    await disk.unlink(`${folder}/plan/complete`);
    await expect(open()).rejects.toThrow('The plan of rows is not complete: submit it again, which resumes it.');
  });
});
