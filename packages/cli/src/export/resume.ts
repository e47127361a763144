import type { Checkpoint, Client, ExportOptions } from '@sluice/core';
import type { Config } from '../config/config.js';
import type { Environment } from '../environment/environment.js';
import { UsageError } from '../errors/errors.js';
import { standardInput } from '../input/readInput.js';
import type { GroupOptions } from '../options/commandOptions.js';
import { flagAbout, type OptionsOf } from '../options/table.js';
import { folderPlace, statePlace } from '../target/statePlace.js';
import type { Target, TargetKind } from '../target/target.js';
import { shellQuoted } from '../terminal/text.js';

/** How an export resumes after an interruption. */
export interface Resumption {
  /** Where its state is kept, for people. */
  readonly sinkPosition: string;
  /** Opens its state. */
  readonly open: (client: Client, onWarning: (message: string) => void) => Promise<Resuming>;
}

/** An export that resumes after an interruption, ready to run. */
export interface Resuming {
  /** What the next run finds. */
  readonly kept: Kept;
  /** What the target is. */
  readonly kind: TargetKind;
  /** Those of `exportTo`, the state included. */
  readonly exportOptions: ExportOptions;
  readonly commands: ResumeCommands;
}

/** What an export has left in its state, as far as it came. */
export interface Kept {
  /** What an earlier run left to resume from. */
  found?: Checkpoint | undefined;
  /** What this one leaves; absent where it has committed no row. */
  last?: Pick<Checkpoint, 'rows' | 'isSealed'> | undefined;
  /** Whether it came so far as to look what an earlier run left. */
  isKnown: boolean;
}

/** What people can paste into their shell after an interruption. */
export interface ResumeCommands {
  /** Resumes, or starts over where nothing was committed. */
  readonly goOn: string;
  /** The webhook's address is not whole in it. */
  readonly isAddressCut?: boolean;
  /** The command line as it was given would start over, whatever is kept. */
  readonly isRestart: boolean;
  /** What has to come on stdin again. */
  readonly fromStdin?: 'owners' | 'key' | 'secret';
}

type GivenOptions = GroupOptions<'resume'> & OptionsOf<'ownersFile' | 'apiKeyFile' | 'secretFile'>;

/**
 * How the export of a command line resumes after an interruption; `undefined` for stdout, where nothing can be taken back.
 *
 * @throws UsageError if a target is asked for what it can't do.
 */
export function resumptionOf(
  options: GivenOptions,
  { kind, state: folder }: Pick<Target<never>, 'kind' | 'state'>,
  args: readonly string[],
  config: Config,
  environment: Pick<Environment, 'folder' | 'command' | 'signal' | 'secrets'>,
): Resumption | undefined {
  const { restart, sameProject, onExpired, commitEvery } = options;
  if (folder === undefined) {
    const flag = flagAbout('state', options);
    if (flag !== undefined) throw new UsageError(`${flag} needs a file: an export to stdout cannot be resumed.`);
    return undefined;
  }
  if (kind === 'webhook' && onExpired === 'restart-partition')
    throw new UsageError(
      '--on-expired restart-partition needs a file: what a service has received cannot be taken back.',
    );
  const sinkPosition =
    options.state === undefined
      ? folderPlace(folder, options, environment)
      : statePlace(options.state, options, config, environment);
  const fromStdin = stdinOf(options);
  const { text: goOn, isAddressCut } = resumeCommand(environment.command, args);
  const commands = {
    ...{ goOn, isAddressCut },
    isRestart: restart ?? false,
    ...(fromStdin && { fromStdin }),
  };
  return {
    sinkPosition: sinkPosition.name,
    open: async (client, onWarning) => {
      const state = await sinkPosition.open(client, onWarning);
      const kept: Kept = { isKnown: false };
      const onCommitted = (last: Checkpoint | undefined): void => {
        if (!kept.isKnown) kept.found = last;
        Object.assign(kept, { last, isKnown: true });
      };
      const exportOptions = {
        ...{ state, onWarning, onCommitted, restart: restart ?? false, sameProject: sameProject ?? false },
        ...(onExpired && { onExpired }),
        ...(commitEvery !== undefined && { commitEvery }),
      };
      return { kept, kind, exportOptions, commands };
    },
  };
}

function stdinOf({ ownersFile, apiKeyFile, secretFile }: GivenOptions): ResumeCommands['fromStdin'] {
  if (ownersFile === standardInput) return 'owners';
  if (secretFile === standardInput) return 'secret';
  return apiKeyFile === standardInput ? 'key' : undefined;
}

/** A command line that goes on with what it left behind. */
interface ResumeCommand {
  /** As it can be pasted into a shell. */
  readonly text: string;
  /** What stood behind a webhook's origin is left out of it, since it may be a token: it has to be written in again. */
  readonly isAddressCut: boolean;
}

/** Options that hold for one run: whoever goes on must not start over again. */
const forOneRun: ReadonlySet<string> = new Set(['--restart', '--break-lock']);

/**
 * A command line, to resume from what it left behind.
 *
 * @param command how the command is called here.
 * @param addressOption the option that holds a webhook's address.
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

/** What a command line alone does not bring back, as sentences with a blank behind each. */
export function neededAgain({ fromStdin, isAddressCut = false }: Omit<ResumeCommands, 'goOn' | 'isRestart'>): string {
  const stdin = fromStdin === undefined ? '' : `Provide the ${fromStdin} on stdin again. `;
  return stdin + (isAddressCut ? 'Replace the address that ends in "…" with the complete one. ' : '');
}

/**
 * A webhook's address as it may be shown: what stands behind its origin may be a token.
 *
 * @example shownAddress('https://hooks.example.com/T0/s3cret') // 'https://hooks.example.com/…'
 */
export function shownAddress(url: string): string {
  if (!URL.canParse(url)) return '…';
  const { origin, href } = new URL(url);
  return href === `${origin}/` ? origin : `${origin}/…`;
}
