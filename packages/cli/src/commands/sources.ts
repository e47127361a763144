import type { Environment } from '../environment.js';
import { exitCodes } from '../faults/exitCodes.js';
import type { Invocation } from '../invocation.js';
import { refuseClosed } from '../terminal/output.js';
import { knownSources } from '../source/knownSources.js';
import { sourceLines } from '../source/sourceLines.js';
import { namesOf } from '../target/namedTarget.js';

/** Options of `sluice sources`. */
export interface SourcesOptions {
  readonly format?: 'text' | 'json';
}

/** `sluice sources`: what `sluice export` and `sluice watch` can name, and what plugins have brought along for `--to` and `--state`. */
export async function sources(
  { format }: SourcesOptions,
  environment: Environment,
  { config }: Invocation,
): Promise<number> {
  const { stdout } = environment;
  refuseClosed(stdout);
  const { bold } = stdout.colors;
  const known = await knownSources(config, environment);
  const named = { sinks: namesOf('sinks', config.plugins), stores: namesOf('stores', config.plugins) };
  if (format === 'json') {
    await stdout.write(`${JSON.stringify({ sources: known, ...named })}\n`);
    return exitCodes.done;
  }
  const described = known.map((source) => {
    const [name = '', ...lines] = sourceLines(source);
    return [bold(name), ...lines, ''].map((line) => `${line}\n`).join('');
  });
  await stdout.write(described.join('') + named.sinks.map((name) => `--to ${name}:TARGET\n`).join(''));
  await stdout.write(named.stores.map((name) => `--state ${name}:TARGET\n`).join(''));
  return exitCodes.done;
}
