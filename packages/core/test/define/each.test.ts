import { describe, expect, test } from 'vitest';
import { someOf } from '../../../../scripts/testEffort.js';
import { Random } from '../../../../test/kit/random.js';
import { createClient, exportTo, memoryState, type Change } from '../../src/index.js';
import {
  byCursor,
  byOffset,
  defineApi,
  listing,
  rowOf,
  type Listing,
  type ListingDefinition,
} from '../../src/define/index.js';
import { hashPlan } from '../../src/rows/export/findCheckpoint.js';
import { recordingSink } from '../rows/sink/recordingSink.js';
import type { SimulatedDisk } from '../node/simulatedDisk.js';
import { disksBeforeCalls } from '../node/simulatedDisk/disksBeforeCalls.js';
import { newStates } from '../node/simulatedDisk/newStates.js';
import { emptyDisk, exportedOn, exportOn, loggedOn } from './exportedForge.js';
import { issuesOf, lineOf, linesOf, reposOf, skipGone, type EachIssue, type Issue, type Repo } from './parentsApi.js';
import { forgeOf, openForge, type Forge } from './servedForge.js';

const counts = [3, 0, 5, 1, 2, 4, 0, 1];

/** Addresses that ask for parents. */
const parentsAsked = ({ asked }: Forge): string[] => asked.filter((each) => each.startsWith('/repos?'));

describe('A6 a listing for each row of another one', () => {
  test('has the rows of each parent, in the order of the parents, with fields made of them', async () => {
    const forge = await forgeOf(counts);
    const { source } = openForge(forge);
    expect((await source.toArray()).map(lineOf)).toEqual(linesOf(forge));
    expect(source.info.partitions).toBe(Infinity);
    // A parent's total is not that of the source.
    for await (const page of source.pages()) expect(page).not.toHaveProperty('total');
  });

  test('A6 requests parents only when it needs more of them', async () => {
    const forge = await forgeOf(counts);
    const pages = openForge(forge).source.pages({ prefetch: 0 })[Symbol.asyncIterator]();
    await pages.next();
    await pages.next();
    expect(forge.asked.map((each) => each.replace(/\?.*/, ''))).toEqual([
      '/repos',
      '/repos/r0/issues',
      '/repos/r0/issues',
    ]);
    await pages.return();
  });

  test('A6 drops a parent whose key came before, and has none where there are none', async () => {
    const forge = await forgeOf([1, 2, 3, 1]);
    const [first, second, third, last] = forge.repos;
    forge.repos = [first!, second!, first!, second!, third!, second!, last!];
    expect((await openForge(forge).source.toArray()).map(lineOf)).toEqual([
      'r0/0',
      'r1/0',
      'r1/1',
      'r2/0',
      'r2/1',
      'r2/2',
      'r3/0',
    ]);
    const none = await forgeOf([]);
    expect(await openForge(none).source.toArray()).toEqual([]);
    const disk = emptyDisk();
    expect(await exportOn(disk, openForge(none).source)).toMatchObject({ rows: 0 });
    expect(exportedOn(disk)).toEqual([]);
  });

  test('A6 maxRows ends it, with a concurrency of 1 only', async () => {
    const forge = await forgeOf(counts);
    const { client } = openForge(forge);
    const rows = await client.forge.issues({ maxRows: 4 }).toArray();
    expect(rows.map(lineOf)).toEqual(linesOf(forge).slice(0, 4));
    expect(() => client.forge.issues({ maxRows: 4 }).pages({ concurrency: 2 })).toThrow('maxRows needs concurrency: 1');
  });

  test('A6 parameters reach the parents and their listings, and are part of the plan', async () => {
    const forge = await forgeOf([1, 1]);
    const api = defineApi({
      name: 'forge',
      sources: {
        repos: reposOf(),
        issues: listing({
          each: rowOf({
            source: 'repos',
            params: (repo: { name: string }, { state }: { state?: string; org?: string }) => ({
              repo: repo.name,
              state,
            }),
            parentParams: () => ({}),
          }),
          path: '/repos/{+repo}/issues',
          query: ({ state }) => ({ state }),
          paging: byCursor({ param: 'after', at: 'next' }),
          rows: 'items',
          columns: ['id'],
          version: '1',
        }),
      },
    });
    const client = createClient({ apiKey: 'test-key-1', rateLimit: false }).use(api({ baseUrl: forge.baseUrl }));
    const open = client.forge.issues({ state: 'open' });
    await open.toArray();
    expect(forge.asked.at(-1)).toBe('/repos/r1/issues?state=open');
    expect(open.info.identity).not.toEqual(client.forge.issues().info.identity);
    await client.close();
  });
});

describe('A6 an export of a listing for each row of another one', () => {
  test.each([1, 3, 8])('A6 has the same bytes with a concurrency of %i', { tags: ['slow'] }, async (concurrency) => {
    const forge = await forgeOf(counts);
    const disk = emptyDisk();
    await exportOn(disk, openForge(forge).source, { concurrency });
    expect(exportedOn(disk)).toEqual(linesOf(forge));
    // The log goes when it is not needed any more.
    expect(disk.paths()).toEqual(['/data/', '/data/issues', '/data/issues.sluice/', '/data/issues.sluice/checkpoint']);
  });

  test.each([1, 8])(
    'A6 that fails at any request resumes with a concurrency of %i, and requests no logged parent again',
    { tags: ['slow'] },
    async (concurrency) => {
      const forge = await forgeOf(counts);
      await exportOn(emptyDisk(), openForge(forge).source, { concurrency });
      const requests = forge.asked.length;
      for (let nth = 1; nth <= requests; nth += 1) {
        const disk = emptyDisk();
        const from = forge.asked.length;
        forge.say = (_url, at) => (at >= from + nth ? 'cut' : undefined);
        await expect(exportOn(disk, openForge(forge).source, { concurrency })).rejects.toThrow('forge.');
        forge.say = () => undefined;
        const logged = loggedOn(disk);
        const before = forge.asked.length;
        await exportOn(disk, openForge(forge).source, { concurrency });
        expect(exportedOn(disk)).toEqual(linesOf(forge));
        // A request of the run that failed may arrive late, but not for what it had logged.
        const again = forge.asked.slice(before).filter((each) => each.startsWith('/repos?'));
        const pagesLogged = logged.split('"parents"').length - 1;
        const loggedPages = ['/repos?size=3', '/repos?size=3&page=2', '/repos?size=3&page=3'].slice(0, pagesLogged);
        expect(
          again.filter((each) => loggedPages.includes(each)),
          `after request ${String(nth)}`,
        ).toEqual([]);
      }
    },
  );

  test.each([1, 3])('A6 requests no child before its parent is in the log (concurrency %i)', async (concurrency) => {
    const forge = await forgeOf([3, 9, 1, 2, 8, 1, 1, 2, 4, 1]);
    const disk = emptyDisk();
    const unlogged: string[] = [];
    forge.say = ({ pathname }) => {
      const [, repo] = /repos\/(\w+)/.exec(pathname) ?? [];
      if (repo !== undefined && !loggedOn(disk).includes(`"${repo}"`)) unlogged.push(repo);
      return undefined;
    };
    await exportOn(disk, openForge(forge).source, { concurrency });
    expect(unlogged).toEqual([]);
    expect(exportedOn(disk)).toEqual(linesOf(forge));
  });

  test('A6 that is killed at any call of the disk resumes with the same bytes', { tags: ['slow'] }, async () => {
    const forge = await forgeOf([3, 1, 2, 0]);
    const run = (disk: SimulatedDisk): Promise<unknown> => exportOn(disk, openForge(forge).source, { concurrency: 2 });
    const disks = await disksBeforeCalls(emptyDisk(), run);
    const whole = exportedOn(disks.at(-1)!);
    expect(whole).toEqual(linesOf(forge));
    const isNew = newStates();
    for (const [nth, disk] of someOf(disks).entries()) {
      for (const mode of someOf(['killed', 'dropped', { seed: nth }] as const, nth)) {
        const left = disk.restart(mode);
        if (!isNew(left)) continue;
        await run(left);
        expect(exportedOn(left), `disk ${String(nth)}, ${JSON.stringify(mode)}`).toEqual(whole);
        expect(left.paths().filter((path) => path.endsWith('.log'))).toEqual([]);
      }
    }
  });

  test.each([1, 8])(
    'A6 of 500 parents with 0 to 40 rows each, abandoned at random with a concurrency of %i, has the same bytes',
    { tags: ['slow'] },
    async (concurrency) => {
      const random = new Random(`each ${String(concurrency)}`);
      const forge = await forgeOf(Array.from({ length: 500 }, () => random.int(0, 40)));
      const disk = emptyDisk();
      const options = { concurrency, commitEvery: 5 };
      const seen = new Set<string>();
      for (let runs = 0; runs < 8; runs += 1) {
        const stopping = new AbortController();
        const from = forge.asked.length;
        const after = random.int(1, 120);
        forge.say = (_url, nth) => {
          if (nth === from + after) stopping.abort(new Error('abandoned'));
          return undefined;
        };
        const exporting = exportOn(disk, openForge(forge).client.forge.issues({ pageSize: 40 }), {
          ...options,
          signal: stopping.signal,
        });
        await expect(exporting).rejects.toThrow('abandoned');
        const again = forge.asked.slice(from).filter((each) => seen.has(each));
        expect(again.filter((each) => each.startsWith('/repos?'))).toEqual([]);
        // The last page of parents may have been requested, and not be logged.
        const pagesLogged = loggedOn(disk).split('"parents"').length - 1;
        for (const each of parentsAsked(forge).slice(0, pagesLogged)) seen.add(each);
      }
      await exportOn(disk, openForge(forge).client.forge.issues({ pageSize: 40 }), options);
      expect(exportedOn(disk)).toEqual(linesOf(forge));
    },
  );

  test('A6 that resumes has the parents of its log, whatever their listing says meanwhile', async () => {
    const forge = await forgeOf([2, 3, 1, 4, 2, 2]);
    const whole = linesOf(forge);
    const disk = emptyDisk();
    forge.say = (url) => (url.pathname.includes('/r3/') ? 'cut' : undefined);
    await expect(exportOn(disk, openForge(forge).source)).rejects.toThrow('forge.issues');
    forge.say = () => undefined;
    // Two pages of three are logged. One of their parents goes, and others come before them.
    expect(loggedOn(disk)).toContain('r5');
    forge.repos = [{ id: 1, name: 'new' }, ...forge.repos.filter(({ name }) => name !== 'r4')];
    const before = parentsAsked(forge).length;
    await exportOn(disk, openForge(forge).source);
    expect(exportedOn(disk)).toEqual(whole);
    expect(parentsAsked(forge)).toHaveLength(before);
  });

  test('A6 continues the walk of the parents behind those of the log', async () => {
    const forge = await forgeOf([1, 1, 1, 1, 1]);
    const whole = linesOf(forge);
    const disk = emptyDisk();
    forge.say = (url) => (url.pathname.includes('/r1/') ? 'cut' : undefined);
    await expect(exportOn(disk, openForge(forge).source)).rejects.toThrow('forge.issues');
    forge.say = () => undefined;
    await exportOn(disk, openForge(forge).source);
    expect(exportedOn(disk)).toEqual(whole);
    expect(parentsAsked(forge)).toEqual(['/repos?size=3', '/repos?size=3&page=2']);
  });

  test('A6 that starts over has the parents of now', async () => {
    const forge = await forgeOf([2, 2, 2]);
    const disk = emptyDisk();
    forge.say = (url) => (url.pathname.includes('/r2/') ? 'cut' : undefined);
    await expect(exportOn(disk, openForge(forge).source)).rejects.toThrow('forge.issues');
    forge.say = () => undefined;
    forge.repos = forge.repos.slice(1);
    await exportOn(disk, openForge(forge).source, { restart: true });
    expect(exportedOn(disk)).toEqual(linesOf(forge));
  });

  test('A6 refuses a log that lacks the parents of its checkpoint, or that is not one', async () => {
    const forge = await forgeOf([2, 2, 2]);
    const disk = emptyDisk();
    forge.say = (url) => (url.pathname.includes('/r2/') ? 'cut' : undefined);
    await expect(exportOn(disk, openForge(forge).source)).rejects.toThrow('forge.issues');
    forge.say = () => undefined;
    const torn = disk.restart('all');
    const log = loggedOn(torn);
    torn.put('/data/issues.sluice/partitions.log', `${log}8d2f00a1 {"parents":1}\n${log.split('\n')[1] ?? ''}\n`);
    await expect(exportOn(torn, openForge(forge).source)).rejects.toThrow('is damaged at byte');
    const lost = disk.restart('all');
    await lost.unlink('/data/issues.sluice/partitions.log');
    await expect(exportOn(lost, openForge(forge).source)).rejects.toThrow(
      'does not have the parents that the checkpoint refers to',
    );
    await exportOn(lost, openForge(forge).source, { restart: true });
    expect(exportedOn(lost)).toEqual(linesOf(forge));
  });

  test('A6 takes back a child whose cursor expired, and walks it again', async () => {
    const forge = await forgeOf([2, 5, 2]);
    const disk = emptyDisk();
    let isExpired = true;
    forge.say = (url) => {
      if (!isExpired || !url.pathname.includes('/r1/') || url.searchParams.get('after') !== '4') return undefined;
      isExpired = false;
      return { status: 410, body: {} };
    };
    await exportOn(disk, openForge(forge).source, { onExpired: 'restart-partition', concurrency: 2 });
    expect(exportedOn(disk)).toEqual(linesOf(forge));
  });

  test('A6 with an expired cursor of the parents is an error, and takes back no child', async () => {
    const forge = await forgeOf([1, 1, 1, 1]);
    forge.say = (url) => (url.searchParams.get('page') === '2' ? { status: 410, body: {} } : undefined);
    const exporting = exportOn(emptyDisk(), openForge(forge).source, { onExpired: 'restart-partition' });
    const error = await exporting.catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: 'cursor-refused', advice: [{ kind: 'restart' }], position: { before: 3 } });
    expect(error).not.toHaveProperty('details.partition');
  });

  test('A6 resumes from state in memory, and without state starts at the start', async () => {
    const forge = await forgeOf([2, 2, 2, 2]);
    const state = memoryState();
    forge.say = (url) => (url.pathname.includes('/r2/') ? 'cut' : undefined);
    const sink = recordingSink<Issue>();
    await expect(exportTo(openForge(forge).source, sink, { state, commitEvery: 1 }).run()).rejects.toThrow('forge.');
    forge.say = () => undefined;
    await exportTo(openForge(forge).source, sink, { state }).run();
    expect(sink.rows.map(lineOf)).toEqual(linesOf(forge));
    const { source } = openForge(forge);
    expect(() => source.pages({ startAt: { before: 1, begun: {}, rows: 2, pages: 1 } })).toThrow('partitionLog');
    expect(() => source.pages({ startAt: 'cursor' })).toThrow('this plan has partitions that are discovered');
  });
});

describe('A6 a parent that the API refuses for good', () => {
  test('A6 fails the walk by default', async () => {
    const forge = await forgeOf([2, { status: 404 }, 2]);
    await expect(openForge(forge).source.toArray()).rejects.toMatchObject({ code: 'http', status: 404 });
  });

  test.each([1, 8])(
    'A6 is skipped if the listing says so, with a warning that names it (concurrency %i)',
    async (concurrency) => {
      const forge = await forgeOf([2, { status: 404 }, 3, { status: 410 }, 0]);
      const { source, warnings } = openForge(forge, { responses: skipGone });
      const disk = emptyDisk();
      expect(await exportOn(disk, source, { concurrency })).toMatchObject({ isIncomplete: true });
      expect(exportedOn(disk)).toEqual(linesOf(forge));
      // Also when the export had been finished before, by another process.
      expect(await exportOn(disk, source, { concurrency })).toMatchObject({
        isIncomplete: true,
        finishedAt: expect.any(String),
      });
      expect(warnings.toSorted()).toEqual([
        expect.stringMatching(/^forge\.issues: skipped "1001" of forge\.repos, so its rows are missing: .*404/),
        expect.stringMatching(/^forge\.issues: skipped "1003" of forge\.repos, so its rows are missing: .*410/),
      ]);
      const pages = [];
      for await (const page of source.pages({ concurrency })) pages.push(page);
      expect(
        pages
          .filter(({ isIncomplete }) => isIncomplete)
          .map(({ partition }) => partition)
          .toSorted(),
      ).toEqual([1, 3]);
    },
  );

  test.each([401, 403, 500])('A6 is not skipped with %i, which does not concern it alone', async (status) => {
    const forge = await forgeOf([2, { status }, 2]);
    const { source } = openForge(forge, { responses: skipGone });
    await expect(source.toArray()).rejects.toMatchObject({ status });
  });

  describe.each([
    ['a cursor', 'after', byCursor({ param: 'after', at: 'next' })],
    ['an offset', 'after', byOffset({ param: 'after' })],
  ] as const)('between its pages, which have %s,', (_, param, paging) => {
    const open = (forge: Forge, each: Partial<EachIssue> = { responses: skipGone }) => openForge(forge, each, paging);
    const isLater = ({ searchParams }: URL): boolean => Number(searchParams.get(param)) > 0;

    test.each([1, 8])('A6 is skipped, and its earlier rows stay (concurrency %i)', async (concurrency) => {
      const forge = await forgeOf([3, 5, 3]);
      let isGone = false;
      forge.say = (url) => {
        if (!url.pathname.includes('/r1/')) return undefined;
        isGone ||= isLater(url);
        return isGone ? { status: 404, body: {} } : undefined;
      };
      const { source, warnings } = open(forge);
      const disk = emptyDisk();
      expect(await exportOn(disk, source, { concurrency })).toMatchObject({ isIncomplete: true });
      expect(exportedOn(disk)).toEqual(['r0/0', 'r0/1', 'r0/2', 'r1/0', 'r1/1', 'r2/0', 'r2/1', 'r2/2']);
      expect(warnings).toEqual([
        expect.stringMatching(
          /^forge\.issues: skipped "1001" of forge\.repos, so the rest of its rows are missing: .*404/,
        ),
      ]);
    });

    test('A6 is not skipped if its first page is still there', async () => {
      const forge = await forgeOf([3, 5, 3]);
      forge.say = (url) => (url.pathname.includes('/r1/') && isLater(url) ? { status: 404, body: {} } : undefined);
      const { source, warnings } = open(forge);
      const error = await source.toArray().catch((thrown: unknown) => thrown);
      expect(error).toMatchObject({ details: { status: 404 } });
      expect(warnings).toEqual([]);
      expect(forge.asked.filter((each) => each === '/repos/r1/issues?size=2')).toHaveLength(2);
    });

    test.each([
      // Whether it is gone can't be known, so the outage is what ends the walk.
      [500, 500],
      [403, 404],
    ])('A6 is not skipped if its first page is answered with %i, and ends the walk with %i', async (status, ended) => {
      const forge = await forgeOf([3, 5, 3]);
      let isGone = false;
      forge.say = (url) => {
        if (!url.pathname.includes('/r1/')) return undefined;
        if (!isLater(url)) return isGone ? { status, body: {} } : undefined;
        isGone = true;
        return { status: 404, body: {} };
      };
      const { source } = open(forge);
      await expect(source.toArray()).rejects.toMatchObject({ details: { status: ended } });
    });

    test('A6 fails the walk by default, without another request', async () => {
      const forge = await forgeOf([3]);
      forge.say = (url) => (isLater(url) ? { status: 404, body: {} } : undefined);
      await expect(open(forge, {}).source.toArray()).rejects.toMatchObject({ details: { status: 404 } });
      expect(forge.asked.filter((each) => each.startsWith('/repos/r0'))).toHaveLength(2);
    });
  });

  test('A6 does not make a watch conclude that its rows are gone', async () => {
    const forge = await forgeOf([2, 2, 2]);
    const { client } = openForge(forge, { responses: skipGone });
    const found: Change<object>[] = [];
    let walks = 0;
    forge.say = (url) => {
      if (url.pathname === '/api/repos') walks += 1;
      return walks > 2 && url.pathname.includes('/r1/') ? { status: 404, body: {} } : undefined;
    };
    await client.forge.issues
      .watch({}, { every: 1, polls: 5, holdAbove: 1 })
      .forEach((change) => void found.push(change));
    expect(walks).toBeGreaterThan(4);
    expect(new Set(found.map(({ type }) => type))).toEqual(new Set(['initial']));
    expect(found).toHaveLength(6);
  });
});

describe('A6 an error of a parent names it', () => {
  const failed = async (forge: Forge, each: Partial<EachIssue> = {}): Promise<unknown> =>
    openForge(forge, each)
      .source.toArray()
      .catch((thrown: unknown) => thrown);

  test('A6 in the words of a walk that cannot continue', async () => {
    const forge = await forgeOf([2, 5]);
    forge.say = ({ searchParams }) => (searchParams.get('after') === '2' ? { status: 410, body: {} } : undefined);
    expect(await failed(forge)).toMatchObject({
      message: expect.stringMatching(
        /^forge\.issues of "1001" of forge\.repos can't continue: the API refused the cursor of page 2 with 410/,
      ),
      details: { partition: 1, status: 410, parent: '"1001" of forge.repos' },
    });
  });

  test.each([
    ['a status', { status: 500, body: {} }, 'http'],
    ['a response that is not one', { text: '<html>' }, 'decode'],
    ['a row that is not one', { body: { items: [7], next: null, total: 1 } }, 'decode'],
    ['a lost connection', 'cut', 'network'],
  ] as const)('A6 with %s', async (_, said, code) => {
    const forge = await forgeOf([2, 2]);
    const { client } = openForge(forge);
    const reports: unknown[] = [];
    client.events.subscribe((event) => {
      if (event.type === 'error' && event.of === 'walk') reports.push(event.error);
    });
    forge.say = ({ pathname }) => (pathname.includes('/r1/') ? said : undefined);
    const error: unknown = await client.forge
      .issues()
      .toArray()
      .catch((thrown: unknown) => thrown);
    const report = {
      code,
      message: expect.stringContaining(' It concerns "1001" of forge.repos.'),
      details: expect.objectContaining({ parent: '"1001" of forge.repos' }),
    };
    expect(error).toMatchObject(report);
    expect(reports).toEqual([expect.objectContaining(report)]);
  });

  test('A6 with as much of its key as can be read, and without one that has a secret', async () => {
    const key = `"${'x'.repeat(200)}\n`;
    const forge = await forgeOf([{ status: 500 }]);
    const of = async (id: string): Promise<unknown> => {
      const [listed] = forge.repos;
      forge.say = ({ pathname }) =>
        pathname.endsWith('/repos') ? { body: { items: [{ ...listed, id }], pages: 1 } } : undefined;
      return failed(forge);
    };
    expect(await of(key)).toMatchObject({ details: { parent: `"\\"${'x'.repeat(99)}" of forge.repos` } });
    for (const secret of [`of test-key-1`, `${'x'.repeat(95)}test-key-1`, `test-key-1${'x'.repeat(20_000)}`])
      expect(await of(secret)).toMatchObject({
        message: expect.stringContaining('It concerns a row of forge.repos.'),
        details: { parent: 'a row of forge.repos' },
      });
  });
});

describe('A6 refuses', () => {
  const api = (sources: Parameters<typeof defineApi>[0]['sources']) => () => defineApi({ name: 'forge', sources });

  test.each([
    ['parents that are no source', { issues: issuesOf() }, 'the API has no such source. Available: issues.'],
    ['itself', { repos: issuesOf() }, 'that leads back to itself'],
    [
      'levels that lead back',
      { repos: issuesOf({ source: 'comments' }), comments: issuesOf({ source: 'issues' }), issues: issuesOf() },
      'that leads back to itself',
    ],
    ['parents without a key', { repos: reposOf(null), issues: issuesOf() }, 'its rows have no key'],
  ])('A6 %s', (_, sources, message) => {
    expect(api(sources)).toThrow(message);
  });

  const definition = {
    each: rowOf({ source: 'repos', params: ({ name }: { name: string }) => ({ repo: name }) }),
    path: '/repos/{repo}',
    paging: byOffset({ param: 'offset' }),
    rows: 'items',
    columns: ['id'] as const,
    version: '1',
  };
  type Definition = ListingDefinition<Record<string, unknown>, object, { repo: string }>;

  test.each<[string, Partial<Definition>, string]>([
    ['no version', { version: '' }, "each needs one, e.g. '1'"],
    ['an offset', { offset: () => 1 }, 'invalid at offset: each excludes it'],
  ])('A6 %s', (_, change, message) => {
    expect(() => listing({ ...definition, ...change })).toThrow(message);
  });

  test('A6 an incremental export', async () => {
    const forge = await forgeOf([1]);
    const sink = recordingSink<Issue>();
    const flow = exportTo(openForge(forge).source, sink, { state: memoryState(), incremental: true });
    await expect(flow.run()).rejects.toThrow("can't be exported incrementally");
  });

  test('A6 a parent that lacks what a path needs, before it is logged', async () => {
    const forge = await forgeOf([1, 1]);
    const disk = emptyDisk();
    const { source } = openForge(forge, { params: ({ id }) => ({ repo: id === 1001 ? '' : 'r0' }) });
    await expect(exportOn(disk, source)).rejects.toThrow('needs the parameter "repo": its path is made of it');
    expect(loggedOn(disk)).toBe('');
    expect(forge.asked).toHaveLength(1);
  });
});

test('A6 the parents are part of the plan', async () => {
  const hashOf = async (repos: Listing<Repo, object>): Promise<string> => {
    const client = createClient({ apiKey: 'test-key-1' }).use(
      defineApi({ name: 'forge', sources: { repos, issues: issuesOf() } })({ baseUrl: 'https://api.example.com' }),
    );
    const { hash } = await hashPlan(client.forge.issues().info, recordingSink());
    await client.close();
    return hash;
  };
  const other = listing<Repo>({
    path: '/repos',
    query: { archived: true },
    rows: 'items',
    columns: ['id'],
    key: ({ id }) => id,
    paging: byOffset({ param: 'from' }),
  });
  expect(await hashOf(reposOf())).toBe(await hashOf(reposOf()));
  expect(await hashOf(reposOf())).not.toBe(await hashOf(other));
});
