import { PassThrough, Readable } from 'node:stream';
import type { Environment } from '../src/environment/environment.js';
import { openOutput } from '../src/environment/output.js';
import { SecretFiles } from '../src/environment/secretFiles.js';

/** An environment in memory, and what was written into it. */
export interface TestEnvironment extends Environment {
  readonly written: { stdout(): string; stderr(): string };
  interrupt(reason: unknown): void;
}

/** Stands in for a process, with terminals of a width or without. */
export function testEnvironment({
  variables = {},
  folder = '/nowhere',
  columns,
  input = '',
}: {
  readonly variables?: Readonly<Record<string, string>>;
  readonly folder?: string;
  readonly columns?: number;
  readonly input?: string;
} = {}): TestEnvironment {
  const controller = new AbortController();
  const stdout = captured(columns);
  const stderr = captured(columns);
  const key = variables['SLUICE_API_KEY'];
  return {
    variables,
    stdin: Readable.from([input]),
    stdout: openOutput(stdout.stream, variables),
    stderr: openOutput(stderr.stream, variables),
    signal: controller.signal,
    folder,
    command: 'sluice',
    hasFlag: () => true,
    nodeVersion: process.versions.node,
    secrets: new Set(key === undefined ? [] : [key]),
    secretFiles: new SecretFiles(),
    warnings: new Set(),
    foreignCode: (_, run) => run(),
    runningPlugins: (_, signal, run) => run(signal),
    written: { stdout: stdout.text, stderr: stderr.text },
    interrupt: (reason) => {
      controller.abort(reason);
    },
  };
}

function captured(columns: number | undefined) {
  const chunks: Buffer[] = [];
  const pipe = new PassThrough();
  pipe.on('data', (chunk: Buffer) => chunks.push(chunk));
  const stream = columns === undefined ? pipe : Object.assign(pipe, { isTTY: true, columns });
  return { stream, text: () => Buffer.concat(chunks).toString() };
}
