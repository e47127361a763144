import { SluiceError } from '@sluice/core';
import { explainInFlags } from './cliTerms.js';
import { EarlyEnd, Failure, Interruption, UsageError } from '../errors/errors.js';
import { isClosedOutput } from '../errors/exitCode.js';
import { thrownText } from '../errors/thrown.js';

/** The error that ended a command, for people: what happened, where, and what to do next. */
export function errorSentence(error: unknown, hasFlag: (flag: string) => boolean): string {
  if (error instanceof EarlyEnd)
    return `${errorSentence(error.cause, hasFlag)} ${error.interruptionReport?.consequence ?? ''}`.trimEnd();
  if (error instanceof UsageError || error instanceof Failure || error instanceof Interruption) return error.message;
  if (isClosedOutput(error)) return 'Nobody reads the output any more.';
  if (SluiceError.is(error)) return librarySentence(error, hasFlag);
  return `Something unexpected happened: ${thrownText(error)} Run it again with SLUICE_DEBUG=1 to see where.`;
}

function librarySentence(error: SluiceError, hasFlag: (flag: string) => boolean): string {
  // The error that the plugin threw is more specific than any advice. Some summaries quote it already.
  if (error.code === 'plugin' && error.cause !== undefined) {
    const said = thrownText(error.cause);
    const isQuoted = error.summary.includes(`: ${said.replace(/[.…]$/, '')}`);
    return isQuoted ? error.summary : `${error.summary.replace(/\.$/, '')}: ${said}`;
  }
  return `${explainInFlags(error, hasFlag)}${isAboutSettings(error) ? ' "sluice doctor" checks the settings.' : ''}`;
}

/** Whether a wrong base URL, key or proxy is a likely reason. */
function isAboutSettings(error: SluiceError): boolean {
  if (error.fault === 'endpoint' || error.fault === 'machine') return false;
  if (error.code === 'network' || error.code === 'unexpected-redirect') return true;
  const { status } = error.details;
  return error.code === 'http' && typeof status === 'number' && [401, 403, 404, 407].includes(status);
}
