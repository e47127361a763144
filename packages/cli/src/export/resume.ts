import type { Client, ExportOptions } from '@sluice/core';
import type { Checkpoint } from '@sluice/core/kit';
import type { Config } from '../config/config.js';
import type { Environment } from '../environment/environment.js';
import { Failure, TimeUp, UsageError } from '../errors/errors.js';
import { standardInput } from '../input/readInput.js';
import type { GroupOptions } from '../options/options.js';
import { flagAbout, type OptionsOf } from '../options/commands.js';
import { refusePlace, statePlace } from '../target/statePlace.js';
import type { Target } from '../target/target.js';
import { quoteForShell } from '../terminal/text.js';

/** How an export resumes after an interruption. */
export interface Resumption {
  /** The name of the state in messages. */
  readonly stateName: string;
  /** Opens its state. */
  readonly open: (client: Client, onWarning: (message: string) => void) => Promise<Resuming>;
}

/** A {@link Resumption} with its state opened. */
export interface Resuming {
  readonly committed: CommittedState;
  /** For `exportTo`, including the state. */
  readonly exportOptions: ExportOptions;
  readonly commands: ResumeCommands;
}

/** The checkpoints of an export. */
export interface CommittedState {
  /** The one of an earlier run. */
  found?: Checkpoint | undefined;
  /** The latest one; absent if no row is committed. */
  last?: Checkpoint | undefined;
  /** Whether the export has looked for the checkpoint of an earlier run. */
  isKnown: boolean;
}

/**
 * The error of an export whose time is over: it has failed if it has committed nothing new, since the same command would
 * get no further. Other errors stay as they are.
 *
 * @param committed absent if the export can't be resumed.
 * @param settled records that a webhook has accepted or refused, which are not sent again.
 */
export function judgeTimeUp(error: unknown, committed: CommittedState | undefined, settled: number): unknown {
  if (!(error instanceof TimeUp)) return error;
  if (!committed) return new Failure(`${error.message} An export to stdout cannot be resumed.`);
  const { found, last } = committed;
  // A run that replaces an earlier one has none of its pages.
  const before = found?.runId === last?.runId ? found : undefined;
  const isNew = last && (last.pages > (before?.pages ?? 0) || last.isSealed !== before?.isSealed);
  if (isNew || settled > 0 || error.isPaused) return error;
  return new Failure('Nothing new was committed within --max-time. Give it more time.');
}

/** What to do after an interruption. */
export interface ResumeCommands {
  /** The command line that resumes, or starts over if nothing is committed. */
  readonly resume: string;
  /** A URL is shortened in it. */
  readonly isAddressCut?: boolean;
  /** The command line had `--restart`. */
  readonly isRestart: boolean;
  /** What to provide on stdin again. */
  readonly fromStdin?: 'owners' | 'key' | 'secret' | undefined;
}

type GivenOptions = GroupOptions<'resume'> & OptionsOf<'ownersFile' | 'apiKeyFile' | 'secretFile'>;

/**
 * How the export of a command line resumes after an interruption; `undefined` for stdout, which cannot be truncated.
 */
export function planResumption(
  options: GivenOptions,
  { kind, state: folder }: Pick<Target<never>, 'kind' | 'state'>,
  args: readonly string[],
  config: Config,
  environment: Environment,
): Resumption | undefined {
  const { restart = false, resumeWithin, sameProject = false, onExpired, commitEvery } = options;
  if (folder === undefined && kind !== 'table') {
    const flag = flagAbout('state', options);
    if (flag !== undefined) throw new UsageError(`${flag} needs a file: an export to stdout cannot be resumed.`);
    return undefined;
  }
  if (kind === 'webhook' && onExpired === 'restart-partition')
    throw new UsageError(
      '--on-expired restart-partition needs a file: what a service has received cannot be taken back.',
    );
  if (folder === undefined) refusePlace(options);
  const place = folder === undefined ? undefined : statePlace(folder, options, config, environment);
  const fromStdin = findStdin(options);
  const { text: resume, isAddressCut } = resumeCommand(environment.command, args);
  const commands = { resume, isAddressCut, isRestart: restart, fromStdin };
  return {
    stateName: place?.name ?? '',
    open: async (client, onWarning) => {
      const state = await place?.open(client, onWarning);
      const committed: CommittedState = { isKnown: false };
      const onCommitted = (last: Checkpoint | undefined): void => {
        // With --restart, the first one that is known is the run's own.
        if (!committed.isKnown && !restart) committed.found = last;
        Object.assign(committed, { last, isKnown: true });
      };
      const given = { restart, sameProject, onExpired, commitEvery, resumeWithin };
      return { committed, exportOptions: { ...given, state, onWarning, onCommitted }, commands };
    },
  };
}

function findStdin({ ownersFile, apiKeyFile, secretFile }: GivenOptions): ResumeCommands['fromStdin'] {
  if (ownersFile === standardInput) return 'owners';
  if (secretFile === standardInput) return 'secret';
  return apiKeyFile === standardInput ? 'key' : undefined;
}

interface ResumeCommand {
  /** Quoted for a shell. */
  readonly text: string;
  /** A URL is shortened to its origin, since the rest may be a token. */
  readonly isAddressCut: boolean;
}

/** Options to leave out when resuming. */
const forOneRun: ReadonlySet<string> = new Set(['--restart', '--break-lock']);

/**
 * The command line that resumes what this one started.
 *
 * @param command how to call `sluice` here.
 * @param addressOption the option with the URL of a webhook. That of a monitor is shortened, too.
 * @example resumeCommand('sluice', ['nfts', 'export', '--to', 'a b.csv', '--restart']).text
 * // "sluice nfts export --to 'a b.csv'"
 */
export function resumeCommand(command: string, args: readonly string[], addressOption = '--forward'): ResumeCommand {
  let isAddressCut = false;
  const addressOptions = [addressOption, '--ping'];
  const shown = (url: string): string => {
    const text = shownAddress(url);
    isAddressCut ||= text.endsWith('…');
    return text;
  };
  const shownArgs = args
    .map((arg, at) => {
      const before = args[at - 1] ?? '';
      if (addressOptions.includes(before)) return shown(arg);
      const option = addressOptions.find((each) => arg.startsWith(`${each}=`));
      return option === undefined ? arg : `${option}=${shown(arg.slice(option.length + 1))}`;
    })
    .filter((arg) => !forOneRun.has(arg));
  return { text: [command, ...shownArgs.map(quoteForShell)].join(' '), isAddressCut };
}

/** Longest command that a checkpoint has: it is saved each second. */
const longestCommand = 500;

/** What a checkpoint says for people about the command line that made it. @param command without secrets. */
export function describeMaking(
  command: string,
  { columns, pageSize }: OptionsOf<'columns' | 'pageSize'>,
  wallets: string | undefined,
): Readonly<Record<string, string>> {
  return {
    columns: columns?.join(',') ?? 'all',
    'page size': pageSize === undefined ? 'the default' : String(pageSize),
    ...(wallets !== undefined && { wallets }),
    command: command.length > longestCommand ? `${command.slice(0, longestCommand)}…` : command,
  };
}

/** What to provide besides the command line, as sentences with a blank after each. */
export function neededAgain({ fromStdin, isAddressCut = false }: Omit<ResumeCommands, 'resume' | 'isRestart'>): string {
  const stdin = fromStdin === undefined ? '' : `Provide the ${fromStdin} on stdin again. `;
  return stdin + (isAddressCut ? 'Replace the address that ends in "…" with the complete one. ' : '');
}

/**
 * The URL of a webhook, shortened to its origin: the rest may be a token.
 *
 * @example shownAddress('https://hooks.example.com/T0/s3cret') // 'https://hooks.example.com/…'
 */
export function shownAddress(url: string): string {
  if (!URL.canParse(url)) return '…';
  const { origin, href } = new URL(url);
  return href === `${origin}/` ? origin : `${origin}/…`;
}
