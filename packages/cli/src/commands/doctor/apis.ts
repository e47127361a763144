import { SluiceError } from '@sluice/core';
import type { ApiSource, SourceDescription } from '@sluice/core/define';
import type { Environment } from '../../environment/environment.js';
import { explainInFlags } from '../../options/cliTerms.js';
import { UsageError } from '../../errors/errors.js';
import { thrownText } from '../../errors/thrown.js';
import { type ApiName, apis, type BaseUrls } from '../../input/baseUrl.js';
import { whereKeysGo } from '../../input/secretVariables.js';
import { baseUrlError } from '../../source/openClient.js';
import { withParams } from '../../source/params.js';
import { formatDuration } from '../../terminal/format.js';
import { finding, type Finding } from './finding.js';
import type { RateNote } from './rateNote.js';

const commandsOf = { streams: 'sluice streams …', aptos: 'sluice nfts …' } as const;

/** A finding that an API has no base URL. Its level is `warn` if another API is in use. */
export function missingBaseUrl(api: ApiName, level: 'warn' | 'fail'): Finding {
  const { variable, option } = apis[api];
  return finding(level, api, `no address. For "${commandsOf[api]}" set ${variable}, or give ${option}.`);
}

/** Probes a built-in API. @param probe resolves to the duration of a request in ms; to `undefined` without a key. */
export async function apiFinding(
  api: ApiName,
  address: string,
  options: BaseUrls,
  { hasFlag }: Environment,
  rate: Pick<RateNote, 'take'>,
  probe: () => Promise<number | undefined>,
): Promise<Finding> {
  try {
    const took = await probe();
    return took === undefined
      ? finding('warn', api, `${address} was not checked, since there is no key`)
      : finding('ok', api, `${address} answered in ${formatDuration(took)} and accepted the key${rate.take()}`);
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

/** Probes a source of a plugin, unless it requires parameters, which only its user knows. */
export async function sourceFinding(
  source: ApiSource,
  credentials: SentCredentials,
  { hasFlag }: Environment,
  rate: Pick<RateNote, 'take'>,
  probe: (source: RowSource) => Promise<number>,
): Promise<Finding> {
  const description = source.describe();
  const { name: subject, params } = description;
  const rows = requestOneRow(source, description, hasFlag);
  if (typeof rows === 'string') return finding('ok', subject, rows);
  try {
    const took = await probe(rows);
    return finding('ok', subject, `answered in ${formatDuration(took)}${nameUnknown(description)}${rate.take()}`);
  } catch (error) {
    if (!SluiceError.is(error)) throw error;
    return describeRefusal(subject, error, credentials, params === undefined, hasFlag);
  }
}

/** What a definition does not say, although runs can need it. */
function nameUnknown({ hasKey, pageSize }: SourceDescription): string {
  const unknown = [
    ...(hasKey ? [] : ['key, which a watch and --mode merge need']),
    ...(pageSize && pageSize.max === undefined ? ['pageSize.max, the most rows of a page'] : []),
  ];
  return unknown.length === 0 ? '' : `. Its definition does not say: ${unknown.join('; ')}`;
}

/** The source limited to one row; or, if it has none without parameters, what the finding says instead. */
function requestOneRow(
  source: ApiSource,
  { name, params = [], pageSize }: SourceDescription,
  hasFlag: Environment['hasFlag'],
): RowSource | string {
  const required = params.filter(({ isRequired }) => isRequired);
  if (required.length > 0) {
    const needed = required.map((param) => `--param ${param.name}=…`).join(' ');
    const how = `sluice export ${name} ${needed} --max-rows 1 --to -`;
    return `was not checked, since it needs ${needed}. To check it: ${how}`;
  }
  try {
    return withParams(source, [], [], () => source({ maxRows: 1, ...(pageSize && { pageSize: 1 }) }));
  } catch (error) {
    const said = SluiceError.is(error) ? explainInFlags(error, hasFlag) : thrownText(error);
    const why = said.includes(name) ? said : `Without parameters its definition fails: ${thrownText(said)}`;
    return `was not checked. ${why}`;
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
