import { appendFileSync, existsSync, mkdirSync, readFileSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { casesOf } from '../../../../scripts/testEffort.js';
import { CheckpointError, createSource, exportTo, memoryState, type Source } from '../../src/index.js';
import { fileSink, fileState, nodeFileSystem, type FileSystem } from '../../src/node/index.js';
import { systemError } from './faultyFileSystem.js';
import { temporaryFolder } from '../../../../test/kit/temporaryFolder.js';
import { textFormat } from './textRows.js';

/** Pages of each part, and how long each takes: the order in which they come is up to that. */
interface Plan {
  readonly parts: readonly (readonly number[])[];
  readonly pagesPerMember: number | undefined;
}

const plans = fc.record({
  parts: fc.array(fc.array(fc.integer({ min: 0, max: 3 }), { minLength: 1, maxLength: 6 }), {
    minLength: 1,
    maxLength: 7,
  }),
  pagesPerMember: fc.option(fc.integer({ min: 1, max: 4 }), { nil: undefined }),
});

/** Each page has as many rows as its number says, and takes as many turns of the event loop. */
function sourceOf({ parts }: Plan, onFetch: () => void = () => undefined): Source<string> {
  return createSource<string>({
    name: 'test.parts',
    identity: null,
    schema: { columns: [] },
    parts: parts.length,
    async fetch({ part, at }) {
      onFetch();
      const page = at && 'cursor' in at ? Number(at.cursor) : 0;
      const pages = parts[part] ?? [];
      const count = pages[page] ?? 0;
      for (let turn = 0; turn < count * 3; turn += 1) await new Promise((resolve) => setImmediate(resolve));
      const rows = Array.from({ length: count }, (_, row) => `part ${part}, page ${page}, row ${row}`);
      return { rows, next: page + 1 < pages.length ? { cursor: String(page + 1) } : 'end' };
    },
  });
}

/** Three parts; where it is stuck, the first one fails at its second page, once the others are through. */
function stuckSource(isStuck: boolean): Source<string> {
  let others = 0;
  return createSource<string>({
    name: 'test.stuck',
    identity: null,
    schema: { columns: [] },
    parts: 3,
    async fetch({ part, at }) {
      const page = at && 'cursor' in at ? Number(at.cursor) : 0;
      if (part === 0 && page === 1 && isStuck) {
        while (others < 6) await new Promise((resolve) => setImmediate(resolve));
        throw new Error('stuck');
      }
      if (part !== 0) others += 1;
      const pages = part === 0 ? 2 : 3;
      return { rows: [`row ${part}.${page}`], next: page + 1 < pages ? { cursor: String(page + 1) } : 'end' };
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

describe('a file written from parts side by side', () => {
  test('E1 has the bytes of one written part by part, in any number of lanes', async () => {
    await fc.assert(
      fc.asyncProperty(plans, fc.integer({ min: 2, max: 5 }), async (plan, lanes) => {
        const folder = temporaryFolder();
        const path = join(folder, 'rows');
        await exportTo(sourceOf(plan), fileSink(textFormat, { path, gzip: gzipOf(plan) }), { lanes }).run();
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
        fc.array(fc.record({ fetches: fc.integer({ min: 0, max: 12 }), lanes: fc.integer({ min: 1, max: 4 }) }), {
          maxLength: 5,
        }),
        fc.integer({ min: 1, max: 4 }),
        async (plan, interruptions, commitEvery) => {
          const folder = temporaryFolder();
          const path = join(folder, 'rows');
          const state = memoryState();
          let isDone = false;
          for (const { fetches, lanes } of [...interruptions, { fetches: Infinity, lanes: 3 }]) {
            if (isDone) break;
            let left = fetches;
            const source = sourceOf(plan, () => {
              if ((left -= 1) < 0) throw new Error('interrupted');
            });
            isDone = await exportTo(source, fileSink(textFormat, { path, gzip: gzipOf(plan) }), {
              state,
              lanes,
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
    await expect(exportTo(stuckSource(true), sink, { state, lanes: 3, commitEvery: 1 }).run()).rejects.toThrow('stuck');
    const files = [`${path}.part`, join(`${path}.sluice`, 'rows-1'), join(`${path}.sluice`, 'rows-2')];
    const committed = files.map((file) => readFileSync(file, 'utf8'));
    // Written behind the last commit, as by a process that was killed.
    for (const file of files) appendFileSync(file, 'behind the commit');
    for (const edited of files) {
      const whole = readFileSync(edited, 'utf8');
      writeFileSync(edited, whole.replace('row', 'wor'));
      const before = files.map((file) => readFileSync(file, 'utf8'));
      await expect(exportTo(stuckSource(false), sink, { state, lanes: 3 }).run()).rejects.toThrow(CheckpointError);
      expect(files.map((file) => readFileSync(file, 'utf8'))).toEqual(before);
      writeFileSync(edited, whole);
    }
    await exportTo(stuckSource(false), sink, { state, lanes: 3 }).run();
    expect(committed.every((text, index) => index > 0 || readFileSync(path, 'utf8').startsWith(text))).toBe(true);
    expect(readFileSync(path, 'utf8').split('\n')).toHaveLength(1 + 2 + 3 + 3 + 1);
  });

  test('keeps no more than a few segments at a time, with and without state', async () => {
    // Where the first one of four is slow, the others are through before it, and wait over some commits.
    const parts = Array.from({ length: 60 }, (_, part) => (part % 4 === 0 ? [3, 3, 3] : [1, 1, 1]));
    const plan = { parts, pagesPerMember: undefined };
    for (const state of [memoryState(), undefined]) {
      const folder = temporaryFolder();
      const path = join(folder, 'rows');
      let most = 0;
      const source = sourceOf(plan, () => {
        if (existsSync(`${path}.sluice`)) most = Math.max(most, readdirSync(`${path}.sluice`).length);
      });
      await exportTo(source, fileSink(textFormat, { path }), {
        lanes: 4,
        commitEvery: 4,
        ...(state && { state }),
      }).run();
      expect(most).toBeGreaterThan(0);
      expect(most).toBeLessThanOrEqual(10);
    }
  });

  test.runIf(process.platform !== 'win32')('keeps the rows that wait where nobody else can read them', async () => {
    const path = join(temporaryFolder(), 'rows');
    const state = fileState(`${path}.sluice`);
    const run = exportTo(stuckSource(true), fileSink(textFormat, { path }), { lanes: 3, commitEvery: 1, state }).run();
    await expect(run).rejects.toThrow('stuck');
    const names = readdirSync(state.folder);
    expect(names).toContain('checkpoint');
    expect(names.some((name) => name.startsWith('rows-'))).toBe(true);
    const modes = ['', ...names].map((name) => statSync(join(state.folder, name)).mode & 0o077);
    expect(modes).toEqual(modes.map(() => 0));
  });

  test('goes on where somebody else was faster to clear away what it needs no more', async () => {
    const parts = Array.from({ length: 8 }, (_, part) => (part % 4 === 0 ? [3, 3, 3] : [1, 1, 1]));
    const plan = { parts, pagesPerMember: undefined };
    const path = join(temporaryFolder(), 'rows');
    let cleared = 0;
    const fileSystem: FileSystem = {
      ...nodeFileSystem,
      async unlink(name) {
        await nodeFileSystem.unlink(name);
        if (!/rows-\d+$/.test(name)) return;
        cleared += 1;
        throw systemError('ENOENT');
      },
    };
    const options = { lanes: 4, commitEvery: 4, state: memoryState() };
    await exportTo(sourceOf(plan), fileSink(textFormat, { path, fileSystem }), options).run();
    expect(cleared).toBeGreaterThan(0);
    expect(readFileSync(path).equals(await undisturbed(plan))).toBe(true);
  });

  test('clears away what a killed export left beside it', async () => {
    const plan = {
      parts: [
        [3, 3],
        [1, 1],
        [1, 1],
      ],
      pagesPerMember: undefined,
    };
    const folder = temporaryFolder();
    const path = join(folder, 'rows');
    mkdirSync(`${path}.sluice`);
    for (const part of [1, 2]) writeFileSync(join(`${path}.sluice`, `rows-${part}`), 'from another day');
    await exportTo(sourceOf(plan), fileSink(textFormat, { path }), { lanes: 3 }).run();
    expect(readFileSync(path).equals(await undisturbed(plan))).toBe(true);
    expect(readdirSync(folder)).toEqual(['rows']);
  });

  test('an export without state that fails leaves nothing of its parts', async () => {
    const plan = {
      parts: [
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
      exportTo(failing, fileSink(textFormat, { path: join(folder, 'rows') }), { lanes: 3 }).run(),
    ).rejects.toThrow('interrupted');
    expect(readdirSync(folder)).toEqual([]);
  });
});
