import { SluiceError } from '@sluice/core';
import { UsageError } from '../faults/usageError.js';
import { inCommandLineWords } from '../faults/inCommandLineWords.js';
import { addressFault, apis, type ApiName, type BaseUrls } from '../settings/baseUrl.js';
import { formatDuration } from '../terminal/formatDuration.js';
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
      ? { level: 'warn', subject: api, text: `${address} was not asked, since there is no key` }
      : { level: 'ok', subject: api, text: `${address} answered in ${formatDuration(took)} and accepted the key` };
  } catch (error) {
    const fault = addressFault(error, options);
    if (fault instanceof UsageError) return { level: 'fail', subject: api, text: fault.message };
    if (!SluiceError.is(error)) throw error;
    const message = inCommandLineWords(error.message);
    const { status } = error.details;
    if (status === 401 || status === 403)
      return { level: 'fail', subject: api, text: `the key was refused: ${message}` };
    // It answers and is only busy.
    if (error.code === 'rate-limited') return { level: 'warn', subject: api, text: message };
    return { level: 'fail', subject: api, text: message };
  }
}
