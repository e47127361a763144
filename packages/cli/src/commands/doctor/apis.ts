import { type ApiSource, SluiceError, type SourceDescription } from '@sluice/core';
import { sentenceOf } from '../../errors/cliTerms.js';
import { UsageError } from '../../errors/errors.js';
import { thrownText } from '../../errors/thrown.js';
import { type ApiName, apis, type BaseUrls } from '../../input/baseUrl.js';
import { whereKeysGo } from '../../input/secrets.js';
import { addressError } from '../../source/openClient.js';
import { askedBy } from '../../source/params.js';
import { formatDuration } from '../../terminal/format.js';
import type { Finding } from './finding.js';

const commandsOf = { streams: 'sluice streams …', aptos: 'sluice nfts …' } as const;

/** That an API has no address. Where another one is in use, it is no fault: perhaps only that one is wanted. */
export function missingAddress(api: ApiName, level: 'warn' | 'fail'): Finding {
  const { variable, option } = apis[api];
  return { level, subject: api, text: `no address. For "${commandsOf[api]}" set ${variable}, or give ${option}.` };
}

/**
 * How an API answered.
 *
 * @param options says whether the address was given as one.
 * @param ask sends one request and resolves to the ms it took, or checks the address and resolves to `undefined`.
 * @throws what is no fault of the API or its settings, e.g. an interruption.
 */
export async function apiFinding(
  api: ApiName,
  address: string,
  options: BaseUrls,
  ask: () => Promise<number | undefined>,
): Promise<Finding> {
  try {
    const took = await ask();
    return took === undefined
      ? { level: 'warn', subject: api, text: `${address} was not checked, since there is no key` }
      : { level: 'ok', subject: api, text: `${address} answered in ${formatDuration(took)} and accepted the key` };
  } catch (error) {
    const fault = addressError(error, options);
    if (fault instanceof UsageError) return { level: 'fail', subject: api, text: fault.message };
    if (!SluiceError.is(error)) throw error;
    const message = sentenceOf(error);
    const { status } = error.details;
    if (status === 401 || status === 403)
      return { level: 'fail', subject: api, text: `the key was refused: ${message}` };
    // It answers and is only busy.
    if (error.code === 'rate-limited') return { level: 'warn', subject: api, text: message };
    return { level: 'fail', subject: api, text: message };
  }
}

/** What a source is made to be asked with. */
type Made = ReturnType<ApiSource>;

/**
 * How a source of a plugin's answered. One that needs parameters is not asked, since nobody but its user knows them.
 *
 * @param hasKey whether a key is sent.
 * @param ask sends one request and resolves to the ms it took.
 * @throws what is no fault of the API or its settings, e.g. an interruption.
 */
export async function sourceFinding(
  source: ApiSource,
  hasKey: boolean,
  ask: (source: Made) => Promise<number>,
): Promise<Finding> {
  const description = source.describe();
  const { name: subject, params } = description;
  const needed = params?.filter(({ isRequired }) => isRequired).map(({ name }) => `--param ${name}=…`) ?? [];
  if (needed.length > 0) {
    const how = `sluice export ${subject} ${needed.join(' ')} --max-rows 1 --to -`;
    return { level: 'ok', subject, text: `was not checked, since it needs ${needed.join(' ')}. To check it: ${how}` };
  }
  const made = madeOf(source, description);
  if (typeof made === 'string') return { level: 'ok', subject, text: `was not checked. ${made}` };
  try {
    return { level: 'ok', subject, text: `answered in ${formatDuration(await ask(made))}` };
  } catch (error) {
    if (!SluiceError.is(error)) throw error;
    return { subject, ...judged(error, { hasKey, isUnknown: params === undefined }) };
  }
}

/** The source for one row; why there is none without parameters. */
function madeOf(source: ApiSource, { name, pageSize }: SourceDescription): Made | string {
  try {
    return askedBy(source, {}, () => source({ maxRows: 1, ...(pageSize && { pageSize: 1 }) }));
  } catch (error) {
    const said = SluiceError.is(error) ? sentenceOf(error) : thrownText(error);
    return said.includes(name) ? said : `Without parameters its definition fails: ${thrownText(said)}`;
  }
}

function judged(
  error: SluiceError,
  { hasKey, isUnknown }: { readonly hasKey: boolean; readonly isUnknown: boolean },
): Omit<Finding, 'subject'> {
  const message = sentenceOf(error);
  const { status } = error.details;
  if (status === 401 || status === 403)
    return {
      level: 'fail',
      text: hasKey ? `the key was refused: ${message}` : `does not answer without a key: ${message} ${whereKeysGo}`,
    };
  // It answers and is only busy.
  if (error.code === 'rate-limited') return { level: 'warn', text: message };
  return isUnknown && error.code !== 'network'
    ? { level: 'warn', text: `${message} It was asked without parameters, and nothing tells whether it needs some.` }
    : { level: 'fail', text: message };
}
