import { type ApiSource, SluiceError, type SourceDescription } from '@sluice/core';
import type { Environment } from '../../environment/environment.js';
import { explainInFlags } from '../../errors/cliTerms.js';
import { UsageError } from '../../errors/errors.js';
import { thrownText } from '../../errors/thrown.js';
import { type ApiName, apis, type BaseUrls } from '../../input/baseUrl.js';
import { whereKeysGo } from '../../input/secrets.js';
import { baseUrlError } from '../../source/openClient.js';
import { withParams } from '../../source/params.js';
import { formatDuration } from '../../terminal/format.js';
import { finding, type Finding } from './finding.js';

const commandsOf = { streams: 'sluice streams …', aptos: 'sluice nfts …' } as const;

/** A finding that an API has no base URL. Its level is `warn` if another API is in use. */
export function missingBaseUrl(api: ApiName, level: 'warn' | 'fail'): Finding {
  const { variable, option } = apis[api];
  return finding(level, api, `no address. For "${commandsOf[api]}" set ${variable}, or give ${option}.`);
}

/**
 * Probes a built-in API.
 *
 * @param probe sends a request and resolves to its duration in ms; `undefined` if it only checks the base URL.
 */
export async function apiFinding(
  api: ApiName,
  address: string,
  options: BaseUrls,
  { hasFlag }: Environment,
  probe: () => Promise<number | undefined>,
): Promise<Finding> {
  try {
    const took = await probe();
    return took === undefined
      ? finding('warn', api, `${address} was not checked, since there is no key`)
      : finding('ok', api, `${address} answered in ${formatDuration(took)} and accepted the key`);
  } catch (error) {
    const usageError = baseUrlError(error, options);
    if (usageError instanceof UsageError) return finding('fail', api, usageError.message);
    if (!SluiceError.is(error)) throw error;
    return describeRefusal(api, error, 'key', false, hasFlag);
  }
}

type RowSource = ReturnType<ApiSource>;

/** What an API is sent: the client's key, credentials of its own, or neither because there is no key. */
type SentCredentials = 'key' | 'own' | 'none';

/**
 * Probes a source of a plugin, unless it requires parameters, which only its user knows.
 *
 * @param probe sends a request and resolves to its duration in ms.
 */
export async function sourceFinding(
  source: ApiSource,
  credentials: SentCredentials,
  { hasFlag }: Environment,
  probe: (source: RowSource) => Promise<number>,
): Promise<Finding> {
  const description = source.describe();
  const { name: subject, params } = description;
  const needed = params?.filter(({ isRequired }) => isRequired).map(({ name }) => `--param ${name}=…`) ?? [];
  if (needed.length > 0) {
    const how = `sluice export ${subject} ${needed.join(' ')} --max-rows 1 --to -`;
    return finding('ok', subject, `was not checked, since it needs ${needed.join(' ')}. To check it: ${how}`);
  }
  const rows = requestOneRow(source, description, hasFlag);
  if (typeof rows === 'string') return finding('ok', subject, `was not checked. ${rows}`);
  try {
    return finding('ok', subject, `answered in ${formatDuration(await probe(rows))}`);
  } catch (error) {
    if (!SluiceError.is(error)) throw error;
    return describeRefusal(subject, error, credentials, params === undefined, hasFlag);
  }
}

/** The source limited to one row, or why that fails without parameters. */
function requestOneRow(
  source: ApiSource,
  { name, pageSize }: SourceDescription,
  hasFlag: Environment['hasFlag'],
): RowSource | string {
  try {
    return withParams(source, {}, () => source({ maxRows: 1, ...(pageSize && { pageSize: 1 }) }));
  } catch (error) {
    const said = SluiceError.is(error) ? explainInFlags(error, hasFlag) : thrownText(error);
    return said.includes(name) ? said : `Without parameters its definition fails: ${thrownText(said)}`;
  }
}

const refusals: Readonly<Record<SentCredentials, (message: string) => string>> = {
  key: (message) => `the key was refused: ${message}`,
  own: (message) => `its credentials were refused: ${message}`,
  none: (message) => `does not answer without a key: ${message} ${whereKeysGo}`,
};

/** @param isUnknown whether the source may need parameters, which it does not describe. */
function describeRefusal(
  subject: string,
  error: SluiceError,
  credentials: SentCredentials,
  isUnknown: boolean,
  hasFlag: Environment['hasFlag'],
): Finding {
  const message = explainInFlags(error, hasFlag);
  const { status } = error.details;
  if (status === 401 || status === 403) return finding('fail', subject, refusals[credentials](message));
  // The API responds, so a rate limit is only a warning.
  if (error.code === 'rate-limited') return finding('warn', subject, message);
  return isUnknown && error.code !== 'network'
    ? finding('warn', subject, `${message} It was asked without parameters, and nothing tells whether it needs some.`)
    : finding('fail', subject, message);
}
