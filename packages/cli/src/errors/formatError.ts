import { inspect } from 'node:util';
import { SluiceError } from '@sluice/core';
import { sentenceOf } from './cliTerms.js';
import { Failure, Interruption, UnfinishedExport, UsageError } from './errors.js';
import { isClosedOutput } from './exitCode.js';

/** What ended a command, for people: what happened, where, and what to do next. */
export function faultSentence(error: unknown): string {
  if (error instanceof UnfinishedExport) return `${faultSentence(error.cause)} ${error.interruptionReport.consequence}`;
  if (error instanceof UsageError || error instanceof Failure || error instanceof Interruption) return error.message;
  if (isClosedOutput(error)) return 'Nobody reads the output any more.';
  if (SluiceError.is(error)) return wholeSentence(error);
  return `Something unexpected happened: ${thrownText(error)} Run it again with SLUICE_DEBUG=1 to see where.`;
}

function wholeSentence(error: SluiceError): string {
  // What code of others threw says more than anything about it.
  if (error.code === 'plugin' && error.cause !== undefined)
    return `${error.summary.replace(/\.$/, '')}: ${thrownText(error.cause)}`;
  return `${sentenceOf(error)}${isAboutSettings(error) ? ' "sluice doctor" checks the settings.' : ''}`;
}

/** Whether a wrong address, key or proxy of an API may well be the reason. */
function isAboutSettings(error: SluiceError): boolean {
  if (error.fault === 'endpoint') return false;
  if (error.code === 'network' || error.code === 'unexpected-redirect') return true;
  const { status } = error.details;
  return error.code === 'http' && typeof status === 'number' && [401, 403, 404, 407].includes(status);
}

const longest = 400;

/** What code of others threw, which may be anything, as a sentence on one line. */
export function thrownText(thrown: unknown): string {
  const text = textOf(thrown).trim().replace(/\s+/g, ' ');
  const cut = text.length > longest ? `${text.slice(0, longest)}…` : text;
  return /[.!?…]$/.test(cut) ? cut : `${cut}.`;
}

/** A sentence that a module of others failed as it was loaded, and what to do about it. */
export function loadingFailed(name: string, thrown: unknown): string {
  const failed = `${name} failed while it was loaded: ${thrownText(thrown)}`;
  // Node keeps the place of a syntax error out of the error, and prints it only for a program of its own.
  if (thrown instanceof SyntaxError && !thrown.message.startsWith('ParseError'))
    return `${failed} ${readAsCommonJs.test(thrown.message) ? readAsModule : 'To see where, run that file with node.'}`;
  return thrown instanceof Error ? `${failed} SLUICE_DEBUG=1 shows where.` : failed;
}

const readAsModule =
  'Node reads that file as CommonJS: run "npm pkg set type=module" in its folder, or let its name end in .mjs.';

/** What Node says of a file with the syntax of modules that it reads as CommonJS. */
const readAsCommonJs = /outside a module|^Unexpected token 'export'|top level bodies of modules/;

function textOf(thrown: unknown): string {
  if (thrown instanceof Error) return thrown.message || thrown.name;
  return typeof thrown === 'string' && thrown.trim() !== '' ? thrown : inspect(thrown, { depth: 1, compact: true });
}
