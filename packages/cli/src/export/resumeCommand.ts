import { shellQuoted } from '../terminal/shellQuoted.js';

/** Options that hold for one run: whoever goes on must not start over again. */
const forOneRun: ReadonlySet<string> = new Set(['--restart', '--break-lock']);

/**
 * A command line as it can be pasted into a shell, to go on with what it left behind.
 *
 * @param command how the command is called here.
 * @example resumeCommand('sluice', ['nfts', 'export', '--to', 'my rows.csv', '--restart']) // "sluice nfts export --to 'my rows.csv'"
 */
export function resumeCommand(command: string, args: readonly string[]): string {
  const kept = args.filter((arg) => !forOneRun.has(arg));
  return [command, ...kept.map(shellQuoted)].join(' ');
}
