// npm run api: writes each entry's public types into packages/*/api, where a change of them shows in review.
// npm run api:check: fails if they are not what was written.
import { CompilerState, Extractor, ExtractorConfig, ExtractorLogLevel } from '@microsoft/api-extractor';
import { existsSync, mkdirSync, readdirSync, rmSync } from 'node:fs';
import { join, posix, relative } from 'node:path';

import './build.mjs';
import { packages } from './packages.mjs';
import { root } from './run.mjs';

const isCheck = process.argv.includes('--check');

const scratch = join(root, 'node_modules/.cache/api');
mkdirSync(scratch, { recursive: true });

const entries = packages.flatMap(({ folder, entries }) =>
  entries.map(({ specifier, types }) => ({
    folder,
    types: join(folder, types),
    report: join(folder, 'api', `${posix.basename(specifier)}.api.md`),
  })),
);
const configs = entries.map(configOf);
// One program for all of them: made one by one, it would take a minute.
const compilerState = CompilerState.create(configs[0], { additionalEntryPoints: entries.map(({ types }) => types) });
const changed = configs.flatMap((config) => {
  if (!isCheck) mkdirSync(config.reportFolder, { recursive: true });
  const { apiReportChanged, errorCount } = Extractor.invoke(config, {
    compilerState,
    localBuild: !isCheck,
    messageCallback: tell,
  });
  if (errorCount > 0) process.exitCode = 1;
  return apiReportChanged ? [config.reportFilePath] : [];
});
const reports = new Set(entries.map(({ report }) => report));
const left = packages
  .map(({ folder }) => join(folder, 'api'))
  .filter((folder) => existsSync(folder))
  .flatMap((folder) => readdirSync(folder).map((name) => join(folder, name)))
  .filter((path) => !reports.has(path));

if (!isCheck) {
  for (const path of left) rmSync(path);
} else if (changed.length + left.length > 0) {
  const names = [...changed, ...left].map((path) => relative(root, path)).join(', ');
  console.error(
    `The public types changed, and not the reports of them: run \`npm run api\`, read what it changes in ${names}, and commit that too.`,
  );
  process.exitCode = 1;
}

function configOf({ folder, types, report }) {
  const none = { logLevel: 'none' };
  return ExtractorConfig.prepare({
    packageJsonFullPath: join(folder, 'package.json'),
    configObjectFullPath: undefined,
    configObject: {
      projectFolder: folder,
      mainEntryPointFilePath: types,
      newlineKind: 'lf',
      compiler: {
        overrideTsconfig: {
          extends: join(root, 'tsconfig.base.json'),
          compilerOptions: { composite: false, customConditions: [], types: ['node'] },
          files: entries.map((entry) => entry.types),
        },
      },
      apiReport: {
        enabled: true,
        reportFolder: join(report, '..'),
        reportTempFolder: scratch,
        reportFileName: posix.basename(report, '.api.md'),
        // What a public type is made of is public too, exported here or not.
        includeForgottenExports: true,
      },
      docModel: { enabled: false },
      dtsRollup: { enabled: false },
      tsdocMetadata: { enabled: false },
      // Types are what a report is for: comments have typedoc as their judge.
      messages: {
        compilerMessageReporting: { default: { logLevel: 'error' } },
        extractorMessageReporting: { default: none },
        tsdocMessageReporting: { default: none },
      },
    },
  });
}

/** Says nothing but faults. */
function tell(message) {
  message.handled = true;
  if (message.logLevel === ExtractorLogLevel.Error) console.error(message.formatMessageWithLocation(root));
}
