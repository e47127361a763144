import { SluiceError } from '@sluice/core';
import { isClosedOutput } from './closedOutput.js';
import { isEndpointFault } from './isEndpointFault.js';
import { Failure } from './failure.js';
import { inCommandLineWords } from './inCommandLineWords.js';
import { Interruption } from './interruption.js';
import { thrownText } from './thrownText.js';
import { UnfinishedExport } from './unfinishedExport.js';
import { UsageError } from './usageError.js';

/** What ended a command, for people: what happened, where, and what to do next. */
export function faultSentence(error: unknown): string {
  if (error instanceof UnfinishedExport) return `${faultSentence(error.cause)} ${error.aftermath.consequence}`;
  if (error instanceof UsageError || error instanceof Failure || error instanceof Interruption) return error.message;
  if (isClosedOutput(error)) return 'Nobody reads the output any more.';
  if (SluiceError.is(error)) return sentenceOf(error);
  return `Something unexpected happened: ${thrownText(error)} Run it again with SLUICE_DEBUG=1 to see where.`;
}

function sentenceOf(error: SluiceError): string {
  const message = inCommandLineWords(error.message, textIn(error, 'option'), textIn(error, 'source'));
  if (error.code === 'plugin' && error.cause !== undefined)
    return `${message.replace(/\.? See its cause\.$/, '')}: ${thrownText(error.cause)}`;
  return `${message}${isAboutSettings(error) ? ' "sluice doctor" checks the settings.' : ''}`;
}

function textIn({ details }: SluiceError, name: string): string | undefined {
  const detail = details[name];
  return typeof detail === 'string' ? detail : undefined;
}

/** Whether a wrong address, key or proxy of an API may well be the reason. */
function isAboutSettings(error: SluiceError): boolean {
  if (isEndpointFault(error)) return false;
  if (error.code === 'network' || error.code === 'unexpected-redirect') return true;
  const { status } = error.details;
  return error.code === 'http' && typeof status === 'number' && [401, 403, 404, 407].includes(status);
}
