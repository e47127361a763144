// Usage: node checkOurTypes.mjs TYPESCRIPT [--emit] PROJECT… Prints what this TypeScript finds wrong with the files of each
// tsconfig.PROJECT.json, with their declarations if it is to emit them, and with ours, as JSON by project. It skips the declarations of
// dependencies: checking them takes most of the time, and they are not ours to fix. `--emit` emits the files of projects without `noEmit`.
//
// One process checks all projects: the second one takes half of what it takes in a process of its own.
import { pathToFileURL } from 'node:url';

const [typescript, ...options] = process.argv.slice(2);
const isEmitting = options.includes('--emit');
const projects = options.filter((option) => option !== '--emit');
const { default: ts } = await import(pathToFileURL(typescript).href);
const host = { getCurrentDirectory: process.cwd, getCanonicalFileName: (name) => name, getNewLine: () => '\n' };

process.stdout.write(JSON.stringify(Object.fromEntries(projects.map((project) => [project, faultsOf(project)]))));

function faultsOf(project) {
  const { config, error } = ts.readConfigFile(`tsconfig.${project}.json`, ts.sys.readFile);
  const { options, fileNames, errors } = ts.parseJsonConfigFileContent(config, ts.sys, process.cwd());
  const program = ts.createProgram(fileNames, { ...options, skipLibCheck: false });
  const ours = program.getSourceFiles().filter(({ fileName }) => !/\/node_modules\/(?!@sluice\/)/.test(fileName));
  const faults = [
    ...(error ? [error] : []),
    ...errors,
    ...program.getOptionsDiagnostics(),
    ...program.getGlobalDiagnostics(),
    ...ours.flatMap((file) => [...program.getSyntacticDiagnostics(file), ...program.getSemanticDiagnostics(file)]),
    ...(options.declaration ? program.getDeclarationDiagnostics() : []),
    ...(isEmitting && !options.noEmit ? program.emit().diagnostics : []),
  ];
  return ts.formatDiagnostics(faults, host);
}
