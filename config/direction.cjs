/**
 * The architecture, as rules. Data moves left to right, and a file imports only from its left:
 *
 *   core  <-  streams, aptos, exporters, tables, opentelemetry, testing  <-  cluster  <-  cli          (sandbox stands alone)
 *
 * and inside core:
 *
 *   root files  <-  rows: columns, source  <-  operators  <-  sink  <-  export  <-  watch
 *               <-  http  <-  auth, quota
 *
 * and with both of them to the left:  client, plugins  <-  health  <-  define  <-  node
 *
 * rows/ is the kernel: pages, walks, sinks, exports and watches of any rows. It and http/ know nothing of each other.
 *
 * and inside the command line, from what knows nothing of it to the program:
 *
 *   errors  <-  terminal  <-  environment  <-  input  <-  progress  <-  options  <-  config  <-  source  <-  target
 *           <-  export  <-  watch  <-  commands  <-  program
 *
 * Imports of types count like any other. Tests are free.
 */

const src = (name) => `^packages/${name}/src/`;
const core = src('core');

/** The rooms of core, from left to right. A room may import from itself, from its left and from core's root files. */
const rooms = [
  ['source', `${core}rows/(columns|source)/`],
  ['operators', `${core}rows/operators/`],
  ['sink', `${core}rows/sink/`],
  ['export', `${core}rows/export/`],
  ['watch', `${core}rows/watch/`],
  ['http', `${core}http/`],
  ['auth', `${core}auth/`],
  ['quota', `${core}quota/`],
  ['client', `${core}(client\\.ts$|plugins/)`],
  ['health', `${core}health/`],
  ['define', `${core}define/`],
  ['node', `${core}node/`],
];

const cli = src('cli');

/** The rooms of the command line, from left to right; its root files stand to the right of all of them. */
const cliRooms = [
  'errors',
  'terminal',
  'environment',
  'input',
  'progress',
  'options',
  'config',
  'source',
  'target',
  'export',
  'watch',
  'commands',
].map((name) => [name, `${cli}${name}/`]);

/** The files of cluster behind its entry for tables. */
const tablesOfRuns = `${src('cluster')}(postgres|run/tableRun)\\.ts$`;

/** A room may not know what comes after it. */
const leftOnly = (owner, rooms, last) =>
  [...rooms, last].slice(0, -1).map(([name, path], place) => {
    const later = [...rooms, last].slice(place + 1);
    return {
      name: `${owner}-${name}-imports-from-its-left`,
      comment: `${name} may not know what comes after it: ${later.map(([each]) => each).join(', ')}.`,
      severity: 'error',
      from: { path },
      to: { path: later.map(([, each]) => each) },
    };
  });

/** errors.ts and the other small, pure files that lie at core's root. */
const rootFile = { path: `${core}[^/]+\\.ts$`, pathNot: `${core}(client|index|kit)\\.ts$` };

/** The entries of core that need no Node. */
const openDoors = `${core}(index|kit|(define|health)/index)\\.ts$`;

/** All of them. */
const coreDoors = `${core}(index|kit|(define|health|node)/index)\\.ts$`;

/** The files through which a package may be entered from another. */
const doors = [
  coreDoors,
  `${src('(streams|aptos|cluster|dashboard|opentelemetry|testing|sandbox)')}index\\.ts$`,
  `${src('cluster')}postgres\\.ts$`,
  `${src('(exporters|tables)')}[^/]+\\.ts$`,
];

module.exports = {
  forbidden: [
    // Between the packages
    {
      name: 'core-stands-first',
      comment: 'core owns the machinery and knows no endpoint, no format and no command line.',
      severity: 'error',
      from: { path: core },
      to: { path: '^packages/', pathNot: core },
    },
    {
      name: 'an-api-knows-core-only',
      comment: 'streams and aptos own one API each. They know neither each other nor where rows go.',
      severity: 'error',
      from: { path: src('(streams|aptos)') },
      to: { path: '^packages/', pathNot: [src('$1'), core] },
    },
    {
      name: 'an-api-needs-no-node',
      comment: 'streams and aptos run wherever the main entry of core does, so they keep away from core/node.',
      severity: 'error',
      from: { path: src('(streams|aptos)') },
      to: { path: `${core}node/` },
    },
    {
      name: 'a-target-knows-core-only',
      comment: 'Exporters and tables take rows from anywhere. They know neither an API nor each other.',
      severity: 'error',
      from: { path: src('(exporters|tables)') },
      to: { path: '^packages/', pathNot: [src('$1'), core] },
    },
    {
      name: 'cluster-knows-core-only',
      comment: 'Several machines share the work of any source, into any sink: it knows no API and no format.',
      severity: 'error',
      from: { path: src('cluster'), pathNot: tablesOfRuns },
      to: { path: '^packages/', pathNot: [src('cluster'), core] },
    },
    {
      name: 'runs-of-tables-know-tables',
      comment: 'What a run writes into a table is what an export of it writes. Whoever uses folders loads none of it.',
      severity: 'error',
      from: { path: tablesOfRuns },
      to: { path: '^packages/', pathNot: [src('cluster'), core, `${src('tables')}(postgres|runs)\\.ts$`] },
    },
    {
      name: 'folders-of-runs-know-no-table',
      comment: 'The main entry of cluster loads no database.',
      severity: 'error',
      from: { path: `${src('cluster')}index\\.ts$` },
      to: { path: src('tables'), reachable: true },
    },
    {
      name: 'telemetry-knows-core-only',
      comment: 'Telemetry observes any API and any sink, on any platform.',
      severity: 'error',
      from: { path: src('opentelemetry') },
      to: { path: '^packages/', pathNot: [src('opentelemetry'), openDoors] },
    },
    {
      name: 'dashboard-knows-core-only',
      comment: 'The page shows what a client emits, whatever API and format it uses. Nothing of core reaches for it.',
      severity: 'error',
      from: { path: src('dashboard') },
      to: { path: '^packages/', pathNot: [src('dashboard'), openDoors] },
    },
    {
      name: 'testing-knows-core-only',
      comment: 'The suites judge parts of any author by what the entries of core say of them, on any platform.',
      severity: 'error',
      from: { path: src('testing') },
      to: { path: '^packages/', pathNot: [src('testing'), openDoors] },
    },
    {
      name: 'only-tests-need-testing',
      comment: 'No package needs the suites at run time.',
      severity: 'error',
      from: { path: '^packages/[^/]+/src/', pathNot: src('testing') },
      to: { path: '^packages/testing/' },
    },
    {
      name: 'sandbox-stands-alone',
      comment: 'The sandbox plays the server. Sharing code with the client would hide a fault that both have.',
      severity: 'error',
      from: { path: src('sandbox') },
      to: { path: '^packages/', pathNot: src('sandbox') },
    },
    {
      name: 'only-the-command-runs-the-sandbox',
      comment: '`sluice demo` and `sluice sandbox` start it. No library package ships a server.',
      severity: 'error',
      from: { path: '^packages/[^/]+/src/', pathNot: [src('cli'), src('sandbox')] },
      to: { path: '^packages/sandbox/' },
    },
    {
      name: 'through-the-door',
      comment: 'A package is entered through what its package.json exports. What is not exported is private.',
      severity: 'error',
      from: { path: '^packages/([^/]+)/src/' },
      to: { path: '^packages/', pathNot: ['^packages/$1/', ...doors] },
    },

    // Inside core
    {
      name: 'root-files-import-no-room',
      comment: 'errors.ts and its neighbours may be imported by every room, so they import none.',
      severity: 'error',
      from: rootFile,
      to: { path: [...rooms.map(([, path]) => path), openDoors] },
    },
    ...leftOnly('core', rooms.slice(0, -1), rooms.at(-1)),
    {
      name: 'rows-know-rows-only',
      comment: 'The kernel: rows come from anywhere, and go anywhere. A source asks through what it was given.',
      severity: 'error',
      from: { path: `${core}rows/` },
      to: { path: `${core}[^/]+/`, pathNot: `${core}rows/` },
    },
    {
      name: 'transport-knows-no-rows',
      comment: 'It sends requests, and is handed credentials and quotas by who opens an API.',
      severity: 'error',
      from: { path: `${core}(http|auth|quota)/` },
      to: { path: `${core}rows/` },
    },
    {
      name: 'nothing-imports-its-own-entry',
      comment: 'An entry is a table of contents. A file of core imports from the room itself.',
      severity: 'error',
      // An entry leads to the one whose types its declarations print.
      from: { path: core, pathNot: coreDoors },
      to: { path: openDoors },
    },
    {
      name: 'open-entries-leave-node-out',
      comment: 'It has an entry of its own, so that the others run on any platform.',
      severity: 'error',
      from: { path: openDoors },
      to: { path: `${core}node/`, reachable: true },
    },
    {
      name: 'main-entry-leaves-definitions-out',
      comment: 'They have an entry of their own, so that nobody loads what they do not use.',
      severity: 'error',
      from: { path: `${core}index\\.ts$` },
      to: { path: `${core}define/`, reachable: true },
    },
    {
      name: 'node-builtins-in-two-places',
      comment:
        'core also runs in browsers, Bun, Deno and workers. What needs Node is in node/, or behind the `#adapter` condition.',
      severity: 'error',
      from: {
        path: core,
        pathNot: [`${core}node/`, `${core}http/adapter/(nodeAdapter|connections|connect|proxy|incoming)\\.ts$`],
      },
      to: { dependencyTypes: ['core'] },
    },
    {
      name: 'adapters-come-by-condition',
      comment: 'Which adapter it is, the platform decides: import `#adapter`, never the file.',
      severity: 'error',
      from: { path: '^packages/' },
      to: { path: `${core}http/adapter/(node|fetch)Adapter\\.ts$`, dependencyTypesNot: ['aliased-subpath-import'] },
    },

    // Inside the command line
    ...leftOnly('cli', cliRooms, ['program', `${cli}[^/]+\\.ts$`]),

    // Everywhere
    {
      name: 'no-circular',
      comment: 'Two files that import each other are one file, or miss a third. The entries of core name each other.',
      severity: 'error',
      from: { pathNot: coreDoors },
      to: { circular: true },
    },
    {
      name: 'no-orphans',
      comment:
        'A file that nobody imports, and that imports nothing, is dead, unless it declares types of a dependency. (knip finds the rest.)',
      severity: 'error',
      from: { orphan: true, pathNot: [...doors, `${src('cli')}bin\\.ts$`, `${core}http/adapter/`, '\\.d\\.ts$'] },
      to: {},
    },
    {
      name: 'declared-dependencies',
      comment:
        'What a package ships may import only what its package.json promises to install. The command has all that inside, and so has the page.',
      severity: 'error',
      from: {
        path: '^packages/[^/]+/src/',
        pathNot: [src('cli'), `${src('dashboard')}page/`],
      },
      to: { dependencyTypes: ['npm-dev', 'npm-no-pkg', 'npm-unknown'], dependencyTypesNot: ['type-only', 'npm-peer'] },
    },
    {
      name: 'resolvable',
      comment: 'An import that leads nowhere would slip through every rule above.',
      severity: 'error',
      from: {},
      to: { couldNotResolve: true },
    },
  ],
  options: {
    exclude: { path: '^packages/[^/]+/(dist|test|coverage)/' },
    doNotFollow: { path: 'node_modules' },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    enhancedResolveOptions: {
      conditionNames: ['@sluice/source', 'types', 'import', 'node', 'default'],
      exportsFields: ['exports'],
      extensions: ['.ts', '.tsx', '.d.ts', '.js'],
    },
  },
};
