import { SluiceError } from '../errors.js';
import type { DocumentReader } from '../source/documentReader.js';
import { shownText } from './issueText.js';

/**
 * The error for what a definition's own code has thrown at an answer: with the place, and without the thrown error as its cause, which
 * may quote the answer.
 */
export function thrownFault(error: unknown, path: string, subject: unknown, read: DocumentReader): SluiceError {
  if (SluiceError.is(error)) return error;
  const shown = shownText(String(error), subject);
  return read.fault(path, `the source's definition failed at it${shown === undefined ? '' : ` with ${shown}`}`);
}
