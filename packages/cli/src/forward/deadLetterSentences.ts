import type { DeadLetter } from '@sluice/exporters/webhook';
import { formatCount } from '../terminal/formatNumber.js';
import { shellQuoted } from '../terminal/shellQuoted.js';

/** That a record was set aside just now. */
export function deadLetterWarning({ id, attempts, status, answer }: DeadLetter, file: string): string {
  if (attempts === 0) return `Record ${id} was parked in ${file}: one before it with its key was refused.`;
  const said = answer === '' ? '' : ` ("${answer}")`;
  return `Record ${id} was refused with ${String(status)}${said}, and set aside in ${file}.`;
}

/** How many this run has set aside, in passing. */
export function setAside(count: number, file: string): string {
  return `${formatCount(count, 'record was', 'records were')} set aside in ${file}.`;
}

/** How many are set aside, and what to do with them. @param command how the command is called here. */
export function deadLetterSummary(count: number, file: string, command: string): string {
  const them = count === 1 ? 'it' : 'them';
  const name = shellQuoted(file);
  return `${formatCount(count, 'record was', 'records were')} not taken and ${count === 1 ? 'is' : 'are'} kept in ${file}: look at ${them} with "${command} dlq show ${name}", and send ${them} again with "${command} dlq replay ${name} --to URL --secret-file FILE".`;
}
