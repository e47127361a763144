import { createClient } from '../../src/index.js';
import { byCursor, defineApi, listing, type ListingDefinition, rowOf } from '../../src/define/index.js';
import type { RowFormat } from '../../src/kit.js';
import type { Said } from './servedApi.js';

/** The number of runs of each test of each project; a status for one that is refused. */
export type Tree = readonly (readonly (number | Refusal)[] | Refusal)[];

export interface Refusal {
  readonly status: number;
}

/** A run of a test of a project. The numbers of tests and runs begin anew in each project and test. */
export interface Run {
  readonly project: string;
  readonly test: number;
  readonly id: number;
}

const pageOf = 2;

/** What a server with projects, their tests and the runs of these says to a request. */
export function answerOf(tree: Tree, url: URL): Said {
  const [, project, test] = /^\/api\/projects(?:\/p(\d+)\/tests(?:\/(\d+)\/runs)?)?$/.exec(url.pathname) ?? [];
  const from = Number(url.searchParams.get('after') ?? 0);
  const tests = project === undefined ? undefined : tree[Number(project)];
  if (project === undefined)
    return pageFrom(
      from,
      tree.map((_, nth) => ({ name: `p${String(nth)}` })),
    );
  if (!Array.isArray(tests)) return { status: (tests as Refusal | undefined)?.status ?? 404, body: {} };
  if (test === undefined)
    return pageFrom(
      from,
      tests.map((_, nth) => ({ id: nth })),
    );
  const runs: unknown = tests[Number(test)];
  if (typeof runs !== 'number') return { status: (runs as Refusal | undefined)?.status ?? 404, body: {} };
  return pageFrom(
    from,
    Array.from({ length: runs }, (_, id) => ({ id })),
  );
}

function pageFrom(from: number, all: readonly object[]): Said {
  const items = all.slice(from, from + pageOf);
  return { body: { items, next: from + pageOf < all.length ? String(from + pageOf) : null } };
}

const common = {
  rows: 'items',
  paging: byCursor({ param: 'after', at: 'next' }),
  responses: { 404: 'skip', 410: 'skip' },
} as const;

/** Projects, and their tests, whose keys are their numbers in a project. */
export function upperLevels(shared: Pick<ListingDefinition<never, never, never>, 'rows' | 'paging' | 'responses'>) {
  return {
    projects: listing<{ name: string }>({
      ...shared,
      path: '/projects',
      columns: ['name'],
      key: ({ name }) => name,
      version: '1',
    }),
    tests: listing<{ project: string; id: number }, { project: string }, object>({
      ...shared,
      each: rowOf({
        source: 'projects',
        params: ({ name }: { name: string }) => ({ project: name }),
      }),
      fields: { project: '{project}' },
      path: '/projects/{project}/tests',
      columns: ['project', 'id'],
      key: ({ id }) => id,
      version: '1',
    }),
  };
}

/** A listing for each test. */
export const ofTests = {
  each: rowOf({
    source: 'tests',
    params: ({ project, id }: { project: string; id: number }) => ({ project, test: id }),
  }),
  fields: { project: '{project}', test: '{test}' },
  version: '1',
} as const;

/** A client with three levels. */
export function levelsClient(baseUrl: string) {
  const runs = listing<Run, { project: string; test: number }, object>({
    ...common,
    ...ofTests,
    path: '/projects/{project}/tests/{test}/runs',
    columns: ['project', 'test', 'id'],
    key: ({ project, test, id }) => `${project}/${String(test)}/${String(id)}`,
  });
  const api = defineApi({ name: 'lab', sources: { ...upperLevels(common), runs } });
  return createClient({ apiKey: 'test-key-1', rateLimit: false, retry: { retries: 0 } }).use(api({ baseUrl }));
}

/** All runs as text, in the plan's order. */
export function runsOf(tree: Tree): string[] {
  return tree.flatMap((tests, project) =>
    (Array.isArray(tests) ? (tests as readonly (number | Refusal)[]) : []).flatMap((runs, test) =>
      Array.from({ length: typeof runs === 'number' ? runs : 0 }, (_, id) =>
        textOf({ project: `p${String(project)}`, test, id }),
      ),
    ),
  );
}

export const textOf = ({ project, test, id }: Run): string => `${project}/${String(test)}/${String(id)}`;

/** A run a line. */
export const runLines: RowFormat<Run> = {
  name: 'lines',
  identity: null,
  encoder: () => ({ header: '', encode: (rows) => rows.map((row) => `${textOf(row)}\n`).join('') }),
};
