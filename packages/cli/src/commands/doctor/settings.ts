import { createClient, SluiceError } from '@sluice/core';
import type { Invocation } from '../../config/config.js';
import type { Environment, Variables } from '../../environment/environment.js';
import { UsageError } from '../../errors/errors.js';
import { errorSentence } from '../../errors/formatError.js';
import { findApiKey, missingKey } from '../../input/secrets.js';
import { knownSources } from '../../source/findSource.js';
import type { Finding } from './finding.js';

/**
 * Checks the key, without showing it. Returns it if it can be used.
 *
 * @param isNeeded whether a built-in API is in use, which requires a key.
 */
export async function keyFinding(
  apiKeyFile: string | undefined,
  environment: Environment,
  isNeeded: boolean,
): Promise<{ readonly finding: Finding; readonly key?: string }> {
  try {
    const found = await findApiKey(apiKeyFile, environment);
    if (!found) {
      if (isNeeded) throw missingKey();
      return { finding: { level: 'ok', subject: 'API key', text: 'none: APIs of plugins are requested without one' } };
    }
    const { key, from } = found;
    // A client refuses a key that can't be sent.
    await createClient({ apiKey: key }).close();
    const text = `${String(key.length)} characters, from ${from}`;
    const [warning] = environment.warnings;
    const finding: Finding =
      warning === undefined
        ? { level: 'ok', subject: 'API key', text }
        : { level: 'warn', subject: 'API key', text: `${text}. ${warning}` };
    return { finding, key };
  } catch (error) {
    if (!(error instanceof UsageError || SluiceError.is(error, 'config'))) throw error;
    return { finding: { level: 'fail', subject: 'API key', text: error.message } };
  }
}

const min = [20, 19] as const;

/** Whether this version of Node is new enough. */
export function nodeFinding(version: string): Finding {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const isEnough = major > min[0] || (major === min[0] && minor >= min[1]);
  return isEnough
    ? { level: 'ok', subject: 'Node', text: version }
    : { level: 'fail', subject: 'Node', text: `${version} is too old. Install ${min.join('.')} or newer.` };
}

/** The proxies in the environment, without credentials. */
export function proxyFinding(variables: Variables): Finding {
  const found: string[] = [];
  for (const name of ['HTTPS_PROXY', 'HTTP_PROXY']) {
    const value = variables[name.toLowerCase()] || variables[name];
    if (!value) continue;
    const origin = originOf(value);
    if (origin === undefined)
      return {
        level: 'fail',
        subject: 'proxy',
        text: `${name} is not an address. Give one like http://proxy.example.com:3128, or unset it.`,
      };
    found.push(`${name} is ${origin}`);
  }
  const exceptions = variables['no_proxy'] || variables['NO_PROXY'];
  if (exceptions && found.length > 0) found.push(`but not for ${exceptions}`);
  if (found.length === 0) found.push('none is set');
  if (variables['NODE_EXTRA_CA_CERTS']) found.push(`certificates from ${variables['NODE_EXTRA_CA_CERTS']}`);
  return { level: 'ok', subject: 'proxy', text: found.join(', ') };
}

function originOf(address: string): string | undefined {
  if (!URL.canParse(address)) return undefined;
  const { protocol, host } = new URL(address);
  return host === '' ? undefined : `${protocol}//${host}`;
}

/** Checks the configuration and its plugins. Returns the names of the plugins' sources; `undefined` if unknown. */
export async function* configFindings(
  { config, configError }: Pick<Invocation, 'config' | 'configError'>,
  environment: Pick<Environment, 'stderr'>,
): AsyncGenerator<Finding, readonly string[] | undefined, undefined> {
  if (configError) {
    yield { level: 'fail', subject: 'config', text: configError.message };
    return undefined;
  }
  const { file, plugins, defaults } = config;
  if (!file) {
    yield { level: 'ok', subject: 'config', text: 'none in use' };
    return [];
  }
  const names = Object.keys(defaults);
  yield {
    level: 'ok',
    subject: 'config',
    text: `${file.name}${names.length > 0 ? `, with defaults for ${names.join(', ')}` : ''}`,
  };
  if (plugins.length === 0) return [];
  let sources: readonly string[];
  try {
    sources = (await knownSources(config, environment)).map(({ name }) => name);
  } catch (error) {
    if (!SluiceError.is(error)) throw error;
    yield { level: 'fail', subject: 'plugins', text: errorSentence(error) };
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
