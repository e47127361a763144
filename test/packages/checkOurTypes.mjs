// Usage: node checkOurTypes.mjs TYPESCRIPT TSCONFIG. Prints what this TypeScript finds wrong with the project's files,
// with their declarations if it is to emit them, and with ours. It skips the declarations of dependencies: checking them takes most of the time, and they
// are not ours to fix.
import { pathToFileURL } from 'node:url';

const [typescript, tsconfig] = process.argv.slice(2);
const { default: ts } = await import(pathToFileURL(typescript).href);

const { config, error } = ts.readConfigFile(tsconfig, ts.sys.readFile);
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
];
const host = { getCurrentDirectory: process.cwd, getCanonicalFileName: (name) => name, getNewLine: () => '\n' };
process.stdout.write(ts.formatDiagnostics(faults, host));
process.exitCode = faults.length === 0 ? 0 : 1;
