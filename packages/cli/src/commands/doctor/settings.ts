import { createClient, SluiceError } from '@sluice/core';
import { locksEndWithProcess } from '@sluice/core/node';
import type { Invocation } from '../../config/config.js';
import type { Environment, Variables } from '../../environment/environment.js';
import { UsageError } from '../../errors/errors.js';
import { errorSentence } from '../../options/formatError.js';
import { findApiKey, missingKey } from '../../input/secretVariables.js';
import { authText, knownApis, type KnownApi, unsetVariables } from '../../source/describe.js';
import { finding, type Finding } from './finding.js';

/**
 * Checks the key, without showing it. Returns it if it can be used.
 *
 * @param use.isNeeded whether a built-in API is in use, which requires a key.
 * @param use.isUnused whether all APIs have their own credentials, or none.
 */
export async function keyFinding(
  apiKeyFile: string | undefined,
  environment: Environment,
  { isNeeded, isUnused }: { readonly isNeeded: boolean; readonly isUnused: boolean },
): Promise<{ readonly finding: Finding; readonly key?: string }> {
  try {
    const found = await findApiKey(apiKeyFile, environment);
    if (!found) {
      if (isNeeded) throw missingKey();
      const why = isUnused ? 'no API in use needs it' : 'APIs of plugins are requested without one';
      return { finding: finding('ok', 'API key', `none: ${why}`) };
    }
    const { key, from } = found;
    // A client refuses a key that can't be sent.
    await createClient({ apiKey: key }).close();
    const text = `${String(key.length)} characters, from ${from}`;
    const [warning] = environment.warnings;
    if (warning === undefined) return { finding: finding('ok', 'API key', text), key };
    return { finding: finding('warn', 'API key', `${text}. ${warning}`), key };
  } catch (error) {
    if (!(error instanceof UsageError || SluiceError.is(error, 'config'))) throw error;
    return { finding: finding('fail', 'API key', error.message) };
  }
}

const min = [20, 19] as const;

/** Whether this version of Node is new enough. */
export function nodeFinding(version: string): Finding {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const isEnough = major > min[0] || (major === min[0] && minor >= min[1]);
  return isEnough
    ? finding('ok', 'Node', version)
    : finding('fail', 'Node', `${version} is too old. Install ${min.join('.')} or newer.`);
}

/** The proxies in the environment, without credentials. */
export function proxyFinding(variables: Variables): Finding {
  const found: string[] = [];
  for (const name of ['HTTPS_PROXY', 'HTTP_PROXY']) {
    const value = variables[name.toLowerCase()] || variables[name];
    if (!value) continue;
    const origin = readOrigin(value);
    if (origin === undefined)
      return finding(
        'fail',
        'proxy',
        `${name} is not the address of an HTTP proxy. Give one like http://proxy.example.com:3128, or unset it.`,
      );
    found.push(`${name} is ${origin}`);
  }
  const exceptions = variables['no_proxy'] || variables['NO_PROXY'];
  if (exceptions && found.length > 0) found.push(`but not for ${exceptions}`);
  if (found.length === 0) found.push('none is set');
  if (variables['NODE_EXTRA_CA_CERTS']) found.push(`certificates from ${variables['NODE_EXTRA_CA_CERTS']}`);
  return finding('ok', 'proxy', found.join(', '));
}

function readOrigin(address: string): string | undefined {
  if (!URL.canParse(address)) return undefined;
  const { protocol, host } = new URL(address);
  return host !== '' && /^https?:$/.test(protocol) ? `${protocol}//${host}` : undefined;
}

/** What becomes of the lock of a run that is killed, with its state in a folder. */
export async function locksFinding(folder: string): Promise<Finding> {
  try {
    return (await locksEndWithProcess(folder))
      ? finding('ok', 'locks', 'end with their process in this folder: what was killed is resumed by the same command')
      : finding(
          'warn',
          'locks',
          'are files in this folder, since it is not on a local file system that takes sockets: on another machine or in another container, what was killed needs --break-lock once. Keep the state on a local disk, or in PostgreSQL with --state postgres://user@host/db',
        );
  } catch (error) {
    if (!SluiceError.is(error)) throw error;
    return finding('warn', 'locks', error.message);
  }
}

/** What the plugins of a configuration provide. */
export interface PluginApis {
  readonly apis: readonly KnownApi[];
  /** The names of their sources. */
  readonly sources: readonly string[];
}

/** Checks the configuration and its plugins. Returns what these provide; `undefined` if unknown. */
export async function* configFindings(
  { config, configError }: Pick<Invocation, 'config' | 'configError'>,
  environment: Environment,
): AsyncGenerator<Finding, PluginApis | undefined, undefined> {
  if (configError) {
    yield finding('fail', 'config', configError.message);
    return undefined;
  }
  const { file, plugins, defaults } = config;
  if (!file) {
    yield finding('ok', 'config', 'none in use');
    return { apis: [], sources: [] };
  }
  const names = Object.keys(defaults);
  yield finding('ok', 'config', file.name + (names.length > 0 ? `, with defaults for ${names.join(', ')}` : ''));
  if (plugins.length === 0) return { apis: [], sources: [] };
  let known: PluginApis;
  try {
    const { apis, sources } = await knownApis(config, environment);
    known = {
      apis: apis.filter((api) => plugins.some(({ name }) => name === api.name)),
      sources: sources.flatMap(({ name }) =>
        plugins.some((plugin) => name.startsWith(`${plugin.name}.`)) ? [name] : [],
      ),
    };
  } catch (error) {
    if (!SluiceError.is(error)) throw error;
    yield finding('fail', 'plugins', errorSentence(error, environment.hasFlag));
    return undefined;
  }
  for (const { name, sinks = {}, stores = {} } of plugins) {
    const brought = Object.entries({
      sources: known.sources.filter((source) => source.startsWith(`${name}.`)),
      sinks: Object.keys(sinks),
      stores: Object.keys(stores),
    }).flatMap(([what, all]) => (all.length > 0 ? [`${what} ${all.join(', ')}`] : []));
    yield finding('ok', 'plugin', `${name}${brought.length > 0 ? `: ${brought.join('; ')}` : ''}`);
  }
  for (const api of known.apis.filter(hasOwnAuth)) {
    const missing = unsetVariables(api, environment.variables);
    if (missing.length === 0) yield finding('ok', api.name, `auth: ${authText(api.auth)}`);
    else yield finding('fail', api.name, `its credentials are missing: set ${missing.join(' and ')}`);
  }
  return known;
}

/** Whether an API needs something else than the client's key. */
export function hasOwnAuth({ auth }: Pick<KnownApi, 'auth'>): boolean {
  return auth.every(({ kind }) => kind !== 'client-key');
}
