// @module-tag slow
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { casesOf } from '../../../../scripts/testEffort.js';
import { temporaryFolder } from '../../../../test/kit/temporaryFolder.js';
import { CheckpointError, createSource, exportTo, memoryState, type Source } from '../../src/index.js';
import { fileSink, fileState, type FileSystem, nodeFileSystem } from '../../src/node/index.js';
import { textFormat } from './textRows.js';

/** Pages of each partition, and how long each takes: the order in which they come is up to that. */
interface Plan {
  readonly partitions: readonly (readonly number[])[];
  readonly pagesPerMember: number | undefined;
}

const plans = fc.record({
  partitions: fc.array(fc.array(fc.integer({ min: 0, max: 3 }), { minLength: 1, maxLength: 6 }), {
    minLength: 1,
    maxLength: 7,
  }),
  pagesPerMember: fc.option(fc.integer({ min: 1, max: 4 }), { nil: undefined }),
});

/** Each page has as many rows as its number says, and takes as many turns of the event loop. */
function sourceOf({ partitions }: Plan, onFetch: () => void = () => undefined): Source<string> {
  return createSource<string>({
    name: 'test.partitions',
    identity: null,
    schema: { columns: [] },
    partitions: partitions.length,
    async fetch({ partition, at }) {
      onFetch();
      const page = at && 'cursor' in at ? Number(at.cursor) : 0;
      const pages = partitions[partition] ?? [];
      const count = pages[page] ?? 0;
      for (let turn = 0; turn < count * 3; turn += 1) await new Promise((resolve) => setImmediate(resolve));
      const rows = Array.from({ length: count }, (_, row) => `partition ${partition}, page ${page}, row ${row}`);
      return { rows, next: page + 1 < pages.length ? { cursor: String(page + 1) } : 'end' };
    },
  });
}

/** Four partitions; where it is stuck, two of them have their first page only, once the others are through. */
function stuckSource(isStuck: boolean): Source<string> {
  let others = 0;
  return createSource<string>({
    name: 'test.stuck',
    identity: null,
    schema: { columns: [] },
    partitions: 4,
    async fetch({ partition, at }) {
      const page = at && 'cursor' in at ? Number(at.cursor) : 0;
      const isSlow = partition === 0 || partition === 2;
      if (isSlow && page === 1 && isStuck) {
        while (others < 6) await new Promise((resolve) => setImmediate(resolve));
        throw new Error('stuck');
      }
      if (!isSlow) others += 1;
      const pages = isSlow ? 2 : 3;
      return { rows: [`row ${partition}.${page}`], next: page + 1 < pages ? { cursor: String(page + 1) } : 'end' };
    },
  });
}

async function undisturbed(plan: Plan): Promise<Buffer> {
  const path = join(temporaryFolder(), 'rows');
  await exportTo(sourceOf(plan), fileSink(textFormat, { path, gzip: gzipOf(plan) })).run();
  return readFileSync(path);
}

function gzipOf({ pagesPerMember }: Plan): false | { pagesPerMember: number } {
  return pagesPerMember === undefined ? false : { pagesPerMember };
}

describe('a file written from partitions side by side', () => {
  test('E1 has the bytes of one written partition by partition, at any concurrency', async () => {
    await fc.assert(
      fc.asyncProperty(plans, fc.integer({ min: 2, max: 5 }), async (plan, concurrency) => {
        const folder = temporaryFolder();
        const path = join(folder, 'rows');
        await exportTo(sourceOf(plan), fileSink(textFormat, { path, gzip: gzipOf(plan) }), { concurrency }).run();
        expect(readFileSync(path).equals(await undisturbed(plan))).toBe(true);
        expect(readdirSync(folder)).toEqual(['rows']);
      }),
      { numRuns: casesOf(60) },
    );
  });

  test('E1 has them also after any number of interruptions', async () => {
    await fc.assert(
      fc.asyncProperty(
        plans,
        fc.array(fc.record({ fetches: fc.integer({ min: 0, max: 12 }), concurrency: fc.integer({ min: 1, max: 4 }) }), {
          maxLength: 5,
        }),
        fc.integer({ min: 1, max: 4 }),
        async (plan, interruptions, commitEvery) => {
          const folder = temporaryFolder();
          const path = join(folder, 'rows');
          const state = memoryState();
          let isDone = false;
          for (const { fetches, concurrency } of [...interruptions, { fetches: Infinity, concurrency: 3 }]) {
            if (isDone) break;
            let left = fetches;
            const source = sourceOf(plan, () => {
              if ((left -= 1) < 0) throw new Error('interrupted');
            });
            isDone = await exportTo(source, fileSink(textFormat, { path, gzip: gzipOf(plan) }), {
              state,
              concurrency,
              commitEvery,
            })
              .run()
              .then(
                () => true,
                () => false,
              );
            if (!isDone) expect(existsSync(path)).toBe(false);
          }
          expect(readFileSync(path).equals(await undisturbed(plan))).toBe(true);
          expect(readdirSync(folder)).toEqual(['rows']);
        },
      ),
      // An export that does not end is told with its plan.
      { numRuns: casesOf(150), timeout: 120_000 },
    );
  });

  test('E6 is left as it was, all of it, where one of its files was edited', async () => {
    const path = join(temporaryFolder(), 'rows');
    const state = memoryState();
    const sink = fileSink(textFormat, { path });
    await expect(exportTo(stuckSource(true), sink, { state, concurrency: 4, commitEvery: 1 }).run()).rejects.toThrow(
      'stuck',
    );
    const files = [`${path}.part`, join(`${path}.sluice`, 'rows-1'), join(`${path}.sluice`, 'rows-3')];
    const committed = files.map((file) => readFileSync(file, 'utf8'));
    // Written behind the last commit, as by a process that was killed.
    for (const file of files) appendFileSync(file, 'behind the commit');
    for (const edited of files) {
      const whole = readFileSync(edited, 'utf8');
      writeFileSync(edited, whole.replace('row', 'wor'));
      const before = files.map((file) => readFileSync(file, 'utf8'));
      await expect(exportTo(stuckSource(false), sink, { state, concurrency: 4 }).run()).rejects.toThrow(
        CheckpointError,
      );
      expect(files.map((file) => readFileSync(file, 'utf8'))).toEqual(before);
      writeFileSync(edited, whole);
    }
    await exportTo(stuckSource(false), sink, { state, concurrency: 4 }).run();
    expect(committed.every((text, index) => index > 0 || readFileSync(path, 'utf8').startsWith(text))).toBe(true);
    expect(readFileSync(path, 'utf8').split('\n')).toHaveLength(1 + 2 + 3 + 2 + 3 + 1);
  });

  test('keeps no more than a segment for each partition that is on its way, with and without state', async () => {
    // The first one is so slow that all others are through before it, and so are most of those beside every fourth.
    const partitions = Array.from({ length: 60 }, (_, partition) =>
      Array.from({ length: partition === 0 ? 40 : 3 }, () => (partition % 4 === 0 ? 3 : 1)),
    );
    const plan = { partitions, pagesPerMember: undefined };
    for (const state of [memoryState(), undefined]) {
      const folder = temporaryFolder();
      const path = join(folder, 'rows');
      let max = 0;
      const source = sourceOf(plan, () => {
        if (existsSync(`${path}.sluice`)) max = Math.max(max, readdirSync(`${path}.sluice`).length);
      });
      await exportTo(source, fileSink(textFormat, { path }), {
        concurrency: 4,
        commitEvery: 4,
        ...(state && { state }),
      }).run();
      expect(max).toBeGreaterThan(0);
      expect(max).toBeLessThanOrEqual(10);
      expect(readFileSync(path).equals(await undisturbed(plan))).toBe(true);
    }
  });

  test.runIf(process.platform !== 'win32')('keeps the rows that wait where nobody else can read them', async () => {
    const path = join(temporaryFolder(), 'rows');
    const state = fileState(`${path}.sluice`);
    const run = exportTo(stuckSource(true), fileSink(textFormat, { path }), {
      concurrency: 3,
      commitEvery: 1,
      state,
    }).run();
    await expect(run).rejects.toThrow('stuck');
    const names = readdirSync(state.folder);
    expect(names).toContain('checkpoint');
    expect(names.some((name) => name.startsWith('rows-'))).toBe(true);
    const modes = ['', ...names].map((name) => statSync(join(state.folder, name)).mode & 0o077);
    expect(modes).toEqual(modes.map(() => 0));
  });

  test('goes on where somebody else was faster to clear away what it needs no more', async () => {
    const partitions = Array.from({ length: 8 }, (_, partition) => (partition % 4 === 0 ? [3, 3, 3] : [1, 1, 1]));
    const plan = { partitions, pagesPerMember: undefined };
    const path = join(temporaryFolder(), 'rows');
    let cleared = 0;
    const fileSystem: FileSystem = {
      ...nodeFileSystem,
      async unlink(name) {
        if (/rows-\d+$/.test(name)) {
          rmSync(name);
          cleared += 1;
        }
        await nodeFileSystem.unlink(name);
      },
    };
    const options = { concurrency: 4, commitEvery: 4, state: memoryState() };
    await exportTo(sourceOf(plan), fileSink(textFormat, { path, fileSystem }), options).run();
    expect(cleared).toBeGreaterThan(0);
    expect(readFileSync(path).equals(await undisturbed(plan))).toBe(true);
  });

  test('clears away what a killed export left beside it', async () => {
    const plan = {
      partitions: [
        [3, 3],
        [1, 1],
        [1, 1],
      ],
      pagesPerMember: undefined,
    };
    const folder = temporaryFolder();
    const path = join(folder, 'rows');
    mkdirSync(`${path}.sluice`);
    for (const partition of [1, 2]) writeFileSync(join(`${path}.sluice`, `rows-${partition}`), 'from another day');
    await exportTo(sourceOf(plan), fileSink(textFormat, { path }), { concurrency: 3 }).run();
    expect(readFileSync(path).equals(await undisturbed(plan))).toBe(true);
    expect(readdirSync(folder)).toEqual(['rows']);
  });

  test('an export without state that fails leaves nothing of its partitions', async () => {
    const plan = {
      partitions: [
        [3, 3, 3],
        [1, 1, 1, 1],
        [1, 1],
      ],
      pagesPerMember: undefined,
    };
    const folder = temporaryFolder();
    let left = 7;
    const failing = sourceOf(plan, () => {
      if ((left -= 1) < 0) throw new Error('interrupted');
    });
    await expect(
      exportTo(failing, fileSink(textFormat, { path: join(folder, 'rows') }), { concurrency: 3 }).run(),
    ).rejects.toThrow('interrupted');
    expect(readdirSync(folder)).toEqual([]);
  });
});
