import { shownAddress } from '../forward/shownAddress.js';
import { shellQuoted } from '../terminal/shellQuoted.js';

/** A command line that goes on with what it left behind. */
export interface ResumeCommand {
  /** As it can be pasted into a shell. */
  readonly text: string;
  /** What stood behind an endpoint's origin is left out of it, since it may be a token: it has to be written in again. */
  readonly isAddressCut: boolean;
}

/** Options that hold for one run: whoever goes on must not start over again. */
const forOneRun: ReadonlySet<string> = new Set(['--restart', '--break-lock']);

/**
 * A command line, to go on with what it left behind.
 *
 * @param command how the command is called here.
 * @param addressOption the option that holds an endpoint's address.
 * @example resumeCommand('sluice', ['nfts', 'export', '--to', 'my rows.csv', '--restart']).text // "sluice nfts export --to 'my rows.csv'"
 */
export function resumeCommand(command: string, args: readonly string[], addressOption = '--forward'): ResumeCommand {
  let isAddressCut = false;
  const shown = (url: string): string => {
    const text = shownAddress(url);
    isAddressCut ||= text.endsWith('…');
    return text;
  };
  const kept = args
    .map((arg, at) => {
      if (args[at - 1] === addressOption) return shown(arg);
      const start = `${addressOption}=`;
      return arg.startsWith(start) ? start + shown(arg.slice(start.length)) : arg;
    })
    .filter((arg) => !forOneRun.has(arg));
  return { text: [command, ...kept.map(shellQuoted)].join(' '), isAddressCut };
}
