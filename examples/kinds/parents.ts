// Listings for each row of another listing.
import { byPage, listing, onePage, rowOf } from '@sluice/core/define';
import type { Kind } from './kind.js';

const projects = listing({
  path: '/projects',
  paging: onePage(),
  rows: '',
  columns: ['id'],
  key: 'id',
});

const tasks = listing({
  each: rowOf({
    source: 'projects',
    params: { project: '{id}' },
  }),
  fields: { project: '{project}' },
  path: '/projects/{project}/tasks',
  pageSize: { param: 'limit', default: 2, max: 2 },
  paging: byPage({ param: 'page' }),
  until: 'short-page',
  rows: '',
  version: '1',
  columns: ['project', 'id'],
  key: 'id',
});

export const parents: readonly Kind[] = [
  {
    says: 'lists rows for each row of another listing',
    sources: { projects, rows: tasks },
    answers: {
      '/projects': [{ id: 'a' }, { id: 'b' }],
      '/projects/a/tasks?limit=2': [{ id: 1 }],
      '/projects/a/tasks?limit=2&page=2': [],
      '/projects/b/tasks?limit=2': [{ id: 2 }, { id: 3 }],
      '/projects/b/tasks?limit=2&page=2': [],
    },
    exports: [
      { id: 1, project: 'a' },
      { id: 2, project: 'b' },
      { id: 3, project: 'b' },
    ],
  },
  {
    says: 'has rows below these, and more levels',
    sources: {
      projects,
      tasks,
      rows: listing({
        each: rowOf({
          source: 'tasks',
          params: { project: '{project}', task: '{id}' },
        }),
        fields: { project: '{project}', task: '{task}' },
        path: '/projects/{project}/tasks/{task}/comments',
        paging: onePage(),
        rows: '',
        version: '1',
        columns: ['project', 'task', 'id'],
      }),
    },
    answers: {
      '/projects': [{ id: 'a' }, { id: 'b' }],
      '/projects/a/tasks?limit=2': [{ id: 1 }],
      '/projects/a/tasks?limit=2&page=2': [],
      '/projects/b/tasks?limit=2': [{ id: 1 }],
      '/projects/b/tasks?limit=2&page=2': [],
      '/projects/a/tasks/1/comments': [{ id: 8 }],
      '/projects/b/tasks/1/comments': [{ id: 9 }],
    },
    exports: [
      { id: 8, project: 'a', task: 1 },
      { id: 9, project: 'b', task: 1 },
    ],
  },
  {
    says: 'sends the path of its children with each row',
    sources: {
      accounts: listing({
        path: '/accounts',
        paging: onePage(),
        rows: '',
        columns: ['id', 'calls'],
        key: 'id',
      }),
      rows: listing({
        each: rowOf({ source: 'accounts', params: { calls: '{calls}' } }),
        path: '/{+calls}',
        paging: onePage(),
        rows: '',
        columns: ['id'],
        version: '1',
      }),
    },
    answers: { '/accounts': [{ id: 'a', calls: '2010/a/calls.json' }], '/2010/a/calls.json': [{ id: 7 }] },
    exports: [{ id: 7 }],
  },
  {
    says: 'has a listing per region, language or account',
    sources: {
      rows: listing({
        partitions: { region: ['eu', 'us'] },
        path: '/{region}/orders',
        fields: { region: '{region}' },
        paging: onePage(),
        rows: '',
        columns: ['region', 'id'],
      }),
    },
    answers: { '/eu/orders': [{ id: 1 }], '/us/orders': [{ id: 1 }] },
    exports: [
      { id: 1, region: 'eu' },
      { id: 1, region: 'us' },
    ],
  },
  {
    says: 'has a listing for each pair of a parent and a type',
    sources: {
      projects,
      rows: listing({
        each: rowOf({ source: 'projects', params: { project: '{id}' } }),
        partitions: { state: ['open', 'closed'] },
        path: '/projects/{project}/issues',
        query: { state: '{state}' },
        fields: { project: '{project}', state: '{state}' },
        paging: onePage(),
        rows: '',
        version: '1',
        columns: ['project', 'state', 'id'],
      }),
    },
    answers: {
      '/projects': [{ id: 'a' }],
      '/projects/a/issues?state=open': [{ id: 1 }],
      '/projects/a/issues?state=closed': [{ id: 2 }],
    },
    exports: [
      { id: 1, project: 'a', state: 'open' },
      { id: 2, project: 'a', state: 'closed' },
    ],
  },
  {
    says: 'has a listing for each of the given ids',
    sources: {
      rows: listing({
        partitions: ({ accounts }: { accounts: readonly string[] }) => accounts.map((account) => ({ account })),
        path: '/accounts/{account}/orders',
        paging: onePage(),
        rows: '',
        columns: ['id'],
      }),
    },
    params: { accounts: ['a', 'b'] },
    answers: { '/accounts/a/orders': [{ id: 1 }], '/accounts/b/orders': [{ id: 2 }] },
    exports: [{ id: 1 }, { id: 2 }],
  },
];
