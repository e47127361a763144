import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { onTestEnd } from '../../../../scripts/testScope.js';
import { temporaryFolder } from '../../../../test/kit/temporaryFolder.js';
import { createClient, exportTo, memoryState, type Change } from '../../src/index.js';
import { bySince, defineApi, listing, onePage, rowOf, sourcesOf } from '../../src/define/index.js';
import { fileSink, fileState } from '../../src/node/index.js';
import { forkChild } from '../node/forkChild.js';
import { newProcess } from '../node/simulatedExport.js';
import type { SimulatedDisk } from '../node/simulatedDisk.js';
import { recordingSink } from '../rows/sink/recordingSink.js';
import { emptyDisk } from './exportedForge.js';
import {
  answerOf,
  levelsClient,
  ofTests,
  type Run,
  runLines,
  runsOf,
  textOf,
  type Tree,
  upperLevels,
} from './levelsApi.js';
import { type Said, serve } from './servedApi.js';

interface Lab {
  tree: Tree;
  say: (url: URL, nth: number) => Said | 'cut' | undefined;
  readonly asked: string[];
  readonly baseUrl: string;
}

async function labOf(tree: Tree): Promise<Lab> {
  const lab: Pick<Lab, 'tree' | 'say'> = { tree, say: () => undefined };
  const served = await serve((url, nth) => lab.say(url, nth) ?? answerOf(lab.tree, url));
  return Object.assign(lab, served);
}

function openLab({ baseUrl }: Lab) {
  const client = levelsClient(baseUrl);
  const warnings: string[] = [];
  client.events.subscribe((event) => {
    if (event.type === 'warning') warnings.push(event.message);
  });
  onTestEnd(() => client.close());
  return { lab: client.lab, warnings };
}

/** Exports as a process of its own: whatever was there before it is dead. */
async function exportOn(disk: SimulatedDisk, lab: Lab, concurrency = 1) {
  const state = fileState('/data/runs.sluice', { fileSystem: disk, claims: newProcess() });
  const sink = fileSink(runLines, { path: '/data/runs', fileSystem: disk });
  return exportTo(openLab(lab).lab.runs(), sink, { state, concurrency, commitEvery: 1 }).run();
}

const exportedOn = (disk: SimulatedDisk): string[] | undefined => disk.text('/data/runs')?.split('\n').slice(0, -1);

const tree: Tree = [[2, 0, 3], [], [1, 4], [0], [3, 1, 2]];

describe('R6 three levels', () => {
  test('R6 have the rows of each, in the order from the top, and pages that name the rows above', async () => {
    const lab = await labOf(tree);
    const { runs } = openLab(lab).lab;
    expect((await runs().toArray()).map(textOf)).toEqual(runsOf(tree));
    const paths = new Set<string>();
    for await (const { parents, items } of runs().pages())
      for (const { project, test: nth } of items) {
        // Test 0 of one project is not that of another.
        expect(parents).toEqual([project, String(nth)]);
        paths.add(String(parents));
      }
    expect(paths.size).toBe(7);
  });

  test('R6 request each level only when the one below it needs more', async () => {
    const lab = await labOf(tree);
    const pages = openLab(lab).lab.runs().pages({ prefetch: 0 })[Symbol.asyncIterator]();
    await pages.next();
    expect(lab.asked).toEqual(['/projects', '/projects/p0/tests', '/projects/p0/tests/0/runs']);
    await pages.return();
  });

  test.each([1, 4])(
    'R6 that fail at any request resume with a concurrency of %i',
    { tags: ['slow'] },
    async (concurrency) => {
      const lab = await labOf(tree);
      await exportOn(emptyDisk(), lab, concurrency);
      const all = [...lab.asked];
      for (let nth = 1; nth <= all.length; nth += 1) {
        const disk = emptyDisk();
        const from = lab.asked.length;
        lab.say = (_url, at) => (at >= from + nth ? 'cut' : undefined);
        await expect(exportOn(disk, lab, concurrency)).rejects.toThrow('lab.');
        lab.say = () => undefined;
        const logged = disk.text('/data/runs.sluice/partitions.log') ?? '';
        const before = lab.asked.length;
        await exportOn(disk, lab, concurrency);
        expect(exportedOn(disk), `after request ${String(nth)}`).toEqual(runsOf(tree));
        expect(disk.paths()).toEqual(['/data/', '/data/runs', '/data/runs.sluice/', '/data/runs.sluice/checkpoint']);
        // A page of tests that is logged is not requested again, nor one of projects.
        const again = lab.asked.slice(before);
        if (logged.includes('"p4"')) expect(again.filter((each) => !each.includes('runs'))).not.toContain('/projects');
      }
    },
  );

  test.each([1, 4])(
    'R6 killed at any request: same bytes with a concurrency of %i',
    { tags: ['slow'] },
    async (concurrency) => {
      const lab = await labOf(tree);
      const folder = temporaryFolder();
      const path = join(folder, 'runs');
      const start = () =>
        forkChild(new URL('children/exportRuns.ts', import.meta.url), lab.baseUrl, path, String(concurrency));
      let reached: () => void = () => undefined;
      let limit = Infinity;
      lab.say = (_url, nth) => {
        if (nth >= limit) reached();
        return undefined;
      };
      let next = start();
      // Each process is killed at its second request, then at its third and so on: at every level.
      for (let kills = 0; kills < 6; kills += 1) {
        const now = next;
        next = start();
        expect(await now.next()).toBe('ready');
        const served = new Promise<void>((resolve) => (reached = resolve));
        limit = lab.asked.length + 2 + kills;
        now.tell('go');
        await served;
        await now.kill();
      }
      expect(await next.next()).toBe('ready');
      next.tell('go');
      expect(await next.next()).toBe('done');
      expect(readFileSync(path, 'utf8').split('\n').slice(0, -1)).toEqual(runsOf(tree));
      expect(readdirSync(`${path}.sluice`)).toEqual(['checkpoint']);
      expect(existsSync(`${path}.part`)).toBe(false);
    },
  );

  test('R6 keep the position small, and hold few pages', { tags: ['slow'] }, async () => {
    const wide: Tree = Array.from({ length: 40 }, () => [1, 1, 1, 1, 1]);
    const lab = await labOf(wide);
    let longest = 0;
    let rows = 0;
    for await (const { position, items } of openLab(lab).lab.runs().pages({ concurrency: 4 })) {
      longest = Math.max(longest, JSON.stringify(position).length);
      rows += items.length;
    }
    expect(rows).toBe(200);
    expect(longest).toBeLessThan(500);
  });

  test('R6 refuse a log of the upper level that lacks what the lower one refers to', { tags: ['slow'] }, async () => {
    const lab = await labOf(tree);
    const disk = emptyDisk();
    lab.say = (url) => (url.pathname.includes('/p4/tests/1/') ? 'cut' : undefined);
    await expect(exportOn(disk, lab)).rejects.toThrow('lab.runs');
    lab.say = () => undefined;
    await disk.unlink('/data/runs.sluice/partitions-2.log');
    const lost = exportOn(disk, lab);
    // Its walk is over or not: what it needs is there, or the log is refused.
    await expect(lost).rejects.toThrow('The log of the parents of lab.tests does not have the parents');
  });
});

describe('R6 below a skipped parent', () => {
  const refused: Tree = [[2, 1], { status: 404 }, [1, { status: 410 }, 2]];

  test.each([1, 4])('R6 the rows are missing, with a warning, with a concurrency of %i', async (concurrency) => {
    const lab = await labOf(refused);
    const disk = emptyDisk();
    expect(await exportOn(disk, lab, concurrency)).toMatchObject({ isIncomplete: true });
    expect(exportedOn(disk)).toEqual(runsOf(refused));
    const { lab: opened, warnings } = openLab(lab);
    await opened.runs().toArray();
    expect(warnings).toEqual([
      expect.stringMatching(/^lab\.tests: skipped "p1" of lab\.projects, so its rows are missing: .*404/),
      expect.stringMatching(/^lab\.runs: skipped "p2" > "1" of lab\.tests, so its rows are missing: .*410/),
    ]);
  });

  test('R6 an export that was interrupted after the skip is incomplete as well', async () => {
    const lab = await labOf([[2, 1], { status: 404 }, [1, 2]]);
    const disk = emptyDisk();
    lab.say = (url) => (url.pathname.includes('/p2/tests/1/') ? 'cut' : undefined);
    await expect(exportOn(disk, lab)).rejects.toThrow('lab.runs');
    lab.say = () => undefined;
    expect(await exportOn(disk, lab)).toMatchObject({ isIncomplete: true });
    expect(lab.asked.filter((each) => each === '/projects/p1/tests')).toHaveLength(1);
  });

  test('R6 a watch concludes no removals', async () => {
    const lab = await labOf([[2, 1], [3], [1]]);
    const changes: Change<Run>[] = [];
    let polls = 0;
    lab.say = (url) => {
      if (url.pathname === '/api/projects' && !url.searchParams.has('after')) polls += 1;
      if (polls === 2) lab.tree = [[2, 1], { status: 404 }, [1]];
      if (polls === 3) lab.tree = [[2, 1], [2], [1]];
      return undefined;
    };
    const { runs } = openLab(lab).lab;
    for await (const change of runs.watch({}, { every: 1, polls: 4, holdAbove: 1 })) changes.push(change);
    const gone = changes.filter(({ type }) => type === 'removed').map(({ key }) => key);
    // Only what a complete walk lacks.
    expect(gone).toEqual(['p1/0/2']);
    expect(changes).toHaveLength(8);
  });
});

describe('R6 a mark for each path of keys', () => {
  interface Event {
    readonly project: string;
    readonly test: number;
    readonly at: number;
  }

  /** A server of which each test has events, by their time. */
  async function openEvents(events: Record<string, number[]>, refused: Set<string>) {
    const served = await serve((url) => {
      const [, project = '', , id] = /^\/api\/projects\/(p\d)\/tests(\/(\d)\/events)?$/.exec(url.pathname) ?? [];
      if (project === '') return { body: [{ name: 'p0' }, { name: 'p1' }] };
      if (refused.has(project)) return { status: 404, body: {} };
      if (id === undefined) return { body: [{ id: 0 }, { id: 1 }] };
      const since = Number(url.searchParams.get('since') ?? 0);
      return { body: (events[`${project}/${id}`] ?? []).filter((at) => at >= since).map((at) => ({ at })) };
    });
    const listed = listing<Event, { project: string; test: number }, object>({
      ...ofTests,
      path: '/projects/{project}/tests/{test}/events',
      pageSize: { param: 'limit', default: 100, max: 100 },
      paging: bySince({ param: 'since', field: 'at', type: 'integer' }),
      rows: '',
      columns: ['project', 'test', 'at'],
    });
    const above = upperLevels({ rows: '', paging: onePage(), responses: { 404: 'skip' } });
    const api = defineApi({ name: 'lab', sources: { ...above, events: listed } });
    const client = createClient({ apiKey: 'test-key-1', rateLimit: false, retry: { retries: 0 } }).use(
      api({ baseUrl: served.baseUrl }),
    );
    onTestEnd(() => client.close());
    return { source: () => client.lab.events(), asked: served.asked };
  }

  test('R6 which stays below a parent that was skipped', async () => {
    const events: Record<string, number[]> = { 'p0/0': [1, 2], 'p0/1': [7], 'p1/0': [30], 'p1/1': [4] };
    const refused = new Set<string>();
    const { source, asked } = await openEvents(events, refused);
    const state = memoryState();
    const increment = async (): Promise<string[]> => {
      const sink = recordingSink<Event>();
      await exportTo(source(), sink, { state, incremental: true, commitEvery: 1 }).run();
      return sink.rows.map(({ project, test, at }) => `${project}/${String(test)} ${String(at)}`);
    };
    expect(await increment()).toEqual(['p0/0 1', 'p0/0 2', 'p0/1 7', 'p1/0 30', 'p1/1 4']);
    refused.add('p1');
    events['p0/1']?.push(8);
    events['p1/1']?.push(5);
    expect(await increment()).toEqual(['p0/1 8']);
    refused.clear();
    const before = asked.length;
    expect(await increment()).toEqual(['p1/1 5']);
    expect(asked.slice(before).filter((each) => each.includes('events?'))).toEqual([
      '/projects/p0/tests/0/events?limit=100&since=2',
      '/projects/p0/tests/1/events?limit=100&since=8',
      '/projects/p1/tests/0/events?limit=100&since=30',
      '/projects/p1/tests/1/events?limit=100&since=4',
      '/projects/p1/tests/1/events?limit=100&since=5',
    ]);
  });
});

describe('R6 a warning says once', () => {
  async function warned(params: Readonly<Record<string, `{${string}}`>>, path: string) {
    const served = await serve(({ pathname, searchParams }) => {
      const region = searchParams.get('region');
      return { body: pathname.endsWith('/shops') ? [1, 2].map((id) => ({ id, region, group: 'g' })) : [{ pathname }] };
    });
    const client = createClient({ apiKey: false, rateLimit: false }).use(
      defineApi({
        name: 'test',
        baseUrl: served.baseUrl,
        sources: {
          shops: listing({
            ...{ path: '/shops', paging: onePage(), rows: '', columns: ['id'], key: 'id' },
            ...{ partitions: { region: ['eu', 'us'] }, query: { region: '{region}' } },
          }),
          orders: listing({
            each: rowOf({ source: 'shops', params }),
            ...{ path, paging: onePage(), rows: '', columns: ['pathname'], version: '1' },
          }),
        },
      })(),
    );
    const warnings: string[] = [];
    client.events.subscribe((event) => event.type === 'warning' && warnings.push(event.message));
    onTestEnd(() => client.close());
    await sourcesOf(client).get('test.orders')?.({}).toArray();
    return { warnings, asked: served.asked.filter((each) => !each.startsWith('/shops')) };
  }

  test('R6 that a key which two partitions of the parents have leaves out listings', async () => {
    const { warnings, asked } = await warned({ region: '{region}', shop: '{id}' }, '/{region}/{shop}');
    expect(asked).toEqual(['/eu/1', '/eu/2']);
    expect(warnings).toEqual([
      expect.stringMatching(/^test\.orders: "1" of test\.shops came before with other parameters, .* a key with more/),
    ]);
  });

  test('R6 that rows come twice if several parents make the same request', async () => {
    const { warnings } = await warned({ group: '{group}' }, '/groups/{group}');
    expect(warnings).toEqual([
      expect.stringMatching(
        /^test\.orders: the listing of "2" of test\.shops has the same request as one before it, so rows come twice/,
      ),
    ]);
  });

  test('R6 nothing of a parent that is listed again', async () => {
    expect((await warned({ shop: '{id}' }, '/shop/{shop}')).warnings).toEqual([]);
  });
});
