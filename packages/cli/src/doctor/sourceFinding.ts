import { SluiceError, type ApiSource, type SourceDescription } from '@sluice/core';
import { inCommandLineWords } from '../faults/inCommandLineWords.js';
import { thrownText } from '../faults/thrownText.js';
import { formatDuration } from '../terminal/formatDuration.js';
import { whereKeysGo } from '../settings/keyAsArgument.js';
import { askedBy } from '../source/askedBy.js';
import type { Finding } from './finding.js';

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
    return { level: 'ok', subject, text: `was not asked, since it needs ${needed.join(' ')}. To ask it: ${how}` };
  }
  const made = madeOf(source, description);
  if (typeof made === 'string') return { level: 'ok', subject, text: `was not asked. ${made}` };
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
    const said = error instanceof Error ? inCommandLineWords(error.message) : thrownText(error);
    return said.includes(name) ? said : `Without parameters its definition fails: ${thrownText(said)}`;
  }
}

function judged(
  error: SluiceError,
  { hasKey, isUnknown }: { readonly hasKey: boolean; readonly isUnknown: boolean },
): Omit<Finding, 'subject'> {
  const message = inCommandLineWords(error.message);
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
