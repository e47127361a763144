import { SluiceError } from '@sluice/core';
import type { Environment } from '../environment.js';
import { faultSentence } from '../faults/faultSentence.js';
import type { Invocation } from '../invocation.js';
import { knownSources } from '../source/knownSources.js';
import type { Finding } from './finding.js';

const subject = 'config';

/**
 * Which configuration was found, what its plugins bring along, and what is wrong with it.
 *
 * @returns the names of the sources that plugins bring along; `undefined` where that can't be known.
 */
export async function* configFindings(
  { config, configFault }: Pick<Invocation, 'config' | 'configFault'>,
  environment: Pick<Environment, 'stderr'>,
): AsyncGenerator<Finding, readonly string[] | undefined, undefined> {
  if (configFault) {
    yield { level: 'fail', subject, text: configFault.message };
    return undefined;
  }
  const { file, plugins, defaults } = config;
  if (!file) {
    yield { level: 'ok', subject, text: 'none in use' };
    return [];
  }
  const names = Object.keys(defaults);
  yield {
    level: 'ok',
    subject,
    text: `${file.name}${names.length > 0 ? `, with defaults for ${names.join(', ')}` : ''}`,
  };
  if (plugins.length === 0) return [];
  let sources: readonly string[];
  try {
    sources = (await knownSources(config, environment)).map(({ name }) => name);
  } catch (error) {
    if (!SluiceError.is(error)) throw error;
    yield { level: 'fail', subject: 'plugins', text: faultSentence(error) };
    return undefined;
  }
  for (const { name, sinks = {}, stores = {} } of plugins) {
    const brought = [
      ['sources', sources.filter((source) => source.startsWith(`${name}.`))] as const,
      ['sinks', Object.keys(sinks)] as const,
      ['stores', Object.keys(stores)] as const,
    ].flatMap(([what, all]) => (all.length > 0 ? [`${what} ${all.join(', ')}`] : []));
    yield { level: 'ok', subject: 'plugin', text: `${name}${brought.length > 0 ? `: ${brought.join('; ')}` : ''}` };
  }
  return sources.filter((source) => plugins.some(({ name }) => source.startsWith(`${name}.`)));
}
