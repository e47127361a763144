import prettier from 'eslint-config-prettier';
import rxjsX from 'eslint-plugin-rxjs-x';
import { defineConfig, globalIgnores } from 'eslint/config';
import tseslint from 'typescript-eslint';

const sources = ['packages/*/src/**/*.{ts,tsx}'];
const tests = ['packages/*/test/**/*.ts', 'test/**/*.ts', 'prove/**/*.ts', 'benchmarks/**/*.ts'];
const decoders = ['**/*[dD]ecode*.ts', '**/decoders/**/*.ts', '**/*[dD]ecode*/**/*.ts'];

/** Faults in plain JavaScript that neither TypeScript nor its rules see. */
const plainFaults = [
  'no-async-promise-executor',
  'no-control-regex',
  'no-empty',
  'no-irregular-whitespace',
  'no-misleading-character-class',
  'no-self-assign',
  'no-unsafe-finally',
  'no-unsafe-optional-chaining',
  'no-useless-backreference',
  'no-useless-catch',
  'no-useless-escape',
  'require-yield',
];

/** They need types. The last two find what nothing happens in until somebody subscribes. */
const rxjsRules = [
  ...Object.keys(rxjsX.configs.recommended.rules),
  'rxjs-x/no-floating-observables',
  'rxjs-x/no-misused-observables',
];

/**
 * A dependency is imported in one file, so that it can be replaced in one file: who may import what.
 * `types` allows `import type` only. A later row wins over an earlier one.
 */
const rooms = [
  { files: ['packages/core/src/http/axiosTransport.ts'], values: ['axios', 'axios-retry'] },
  {
    files: ['packages/core/src/http/limit/{localLimiter,bottleneckLight.d}.ts'],
    values: ['bottleneck', 'bottleneck/light.js'],
  },
  {
    files: [
      'packages/cli/src/program.ts',
      'packages/cli/src/options/*.ts',
      'packages/cli/src/commands/runConfigured.ts',
      'packages/cli/src/config/defaults.ts',
    ],
    values: ['commander'],
  },
  { files: ['packages/cli/src/terminal/width.ts'], values: ['get-east-asian-width'] },
  { files: ['packages/dashboard/src/page/chart.tsx'], values: ['uplot'] },
  { files: ['packages/cli/src/terminal/colors.ts'], values: ['picocolors'] },
];
const guarded = [...new Set(rooms.flatMap(({ values = [] }) => values))];

/** Names that a reader would have to learn first. Instead: concurrency, partition, pipePages, permit, interruptionReport, lazyRows … */
const privateWords = [
  'lane',
  'lanes',
  'perPage',
  'puller',
  'aftermath',
  'lateRows',
  'untilSent',
  'attendance',
  'patience',
  'mostRows',
  'leastRows',
  'endsPart',
  'withoutPart',
];

/** The rule that keeps every guarded dependency out, but for those named. */
function keepOut({ values = [], types = [] } = {}) {
  const patterns = guarded
    .filter((name) => !values.includes(name))
    .map((name) => ({
      regex: `^${name}(/|$)`,
      allowTypeImports: types.includes(name),
      message: `'${name}' has one room of its own (see \`rooms\` in eslint.config.js): go through the file that owns it.`,
    }));
  return { '@typescript-eslint/no-restricted-imports': ['error', { patterns }] };
}

export default defineConfig(
  globalIgnores([
    '**/dist/',
    '**/coverage/',
    '**/reports/',
    '**/sluice-demo/',
    '**/fixtures/',
    'docs/api/',
    'test/packages/consumer/',
  ]),
  { linterOptions: { reportUnusedDisableDirectives: 'error' } },

  {
    files: ['**/*.{ts,tsx}'],
    extends: [tseslint.configs.strictTypeChecked, tseslint.configs.stylisticTypeChecked, rxjsX.configs.recommended],
    languageOptions: {
      // One program for everything, as `npm run typecheck` has it. A project service loads seven: a third slower, 40 % more memory.
      parserOptions: { project: './tsconfig.json', tsconfigRootDir: import.meta.dirname },
    },
    rules: {
      ...Object.fromEntries(plainFaults.map((rule) => [rule, 'error'])),
      eqeqeq: ['error', 'always', { null: 'ignore' }],
      // Words of our own for what this field has a word for; CONTRIBUTING.md names them.
      'id-denylist': ['error', ...privateWords],

      '@typescript-eslint/no-explicit-any': 'error',
      // A cast is a claim that nobody checks: only decoders, which do check, may make one. `as const` is none.
      '@typescript-eslint/consistent-type-assertions': ['error', { assertionStyle: 'never' }],
      '@typescript-eslint/no-floating-promises': [
        'error',
        // Node's test runner waits for its tests by itself.
        { allowForKnownSafeCalls: [{ from: 'package', package: 'node:test', name: ['describe', 'test'] }] },
      ],
      ...Object.fromEntries(rxjsRules.map((rule) => [rule, 'error'])),

      // Tuned, each for a reason:
      // numbers in messages are as safe as text;
      '@typescript-eslint/restrict-template-expressions': ['error', { allowNumber: true }],
      // `() => subscriber.complete()` reads well;
      '@typescript-eslint/no-confusing-void-expression': ['error', { ignoreArrowShorthand: true }],
      // `while (true)` is how a pull loop looks;
      '@typescript-eslint/no-unnecessary-condition': [
        'error',
        { allowConstantLoopConditions: 'only-allowed-literals' },
      ],
      // an empty text, from the environment say, is often as good as none;
      '@typescript-eslint/prefer-nullish-coalescing': ['error', { ignorePrimitives: { string: true, number: true } }],
      // `.catch(() => {})` is how a promise is let go on purpose;
      '@typescript-eslint/no-empty-function': ['error', { allow: ['arrowFunctions'] }],
      // `const { url, ...others } = options` takes a field out of the others;
      '@typescript-eslint/no-unused-vars': ['error', { ignoreRestSiblings: true }],
      // an interface of ours may ask for a promise where an implementation has nothing to wait for;
      '@typescript-eslint/require-await': 'off',
      // and `signal.reason` is `any` by its specification.
      '@typescript-eslint/only-throw-error': ['error', { allowThrowingAny: true, allowThrowingUnknown: true }],
      '@typescript-eslint/prefer-promise-reject-errors': [
        'error',
        { allowThrowingAny: true, allowThrowingUnknown: true },
      ],
    },
  },

  {
    files: sources,
    rules: {
      'no-console': 'error',
      'no-restricted-syntax': ['error', { selector: 'ExportDefaultDeclaration', message: 'Export a name.' }],
    },
  },
  { files: ['packages/cli/src/**/*.ts'], rules: { 'no-console': 'off' } },
  { files: [...sources, 'examples/**/*.ts'], rules: keepOut() },
  {
    // What a database answers has no type that its library could know.
    files: ['examples/plugins/sqlite*.ts'],
    rules: { '@typescript-eslint/no-unsafe-member-access': 'off', '@typescript-eslint/no-unsafe-return': 'off' },
  },
  ...rooms.map(({ files, ...allowed }) => ({ files, rules: keepOut(allowed) })),
  {
    // Core also runs in browsers, Bun, Deno and workers: what needs Node lives in two places.
    files: ['packages/core/src/**/*.ts'],
    ignores: [
      'packages/core/src/node/**',
      'packages/core/src/http/adapter/{nodeAdapter,connections,connect,proxy,incoming}.ts',
    ],
    rules: {
      'no-restricted-globals': ['error', 'process', 'Buffer', 'global', 'setImmediate', 'clearImmediate', '__dirname'],
    },
  },

  { files: decoders, rules: { '@typescript-eslint/consistent-type-assertions': 'off' } },
  {
    // Types are looked at only for what lets a test pass unchecked, a promise that nobody awaits: to look at all of them in
    // tests takes as long as the sources do.
    files: tests,
    extends: [tseslint.configs.disableTypeChecked],
    languageOptions: { parserOptions: { project: './tsconfig.json' } },
    rules: {
      ...Object.fromEntries(rxjsRules.map((rule) => [rule, 'off'])),
      '@typescript-eslint/await-thenable': 'error',
      '@typescript-eslint/no-floating-promises': 'error',
      '@typescript-eslint/consistent-type-assertions': 'off',
      '@typescript-eslint/no-empty-function': 'off',
      '@typescript-eslint/no-non-null-assertion': 'off',
    },
  },
  {
    files: ['**/*.js', '**/*.mjs', '**/*.cjs'],
    languageOptions: {
      globals: Object.fromEntries(
        ['Buffer', 'URL', 'console', 'clearInterval', 'module', 'performance', 'process', 'setInterval'].map((name) => [
          name,
          'readonly',
        ]),
      ),
    },
    rules: { 'no-undef': 'error', 'no-unused-vars': 'error' },
  },
  prettier,
);
