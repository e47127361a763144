import { resolve } from 'node:path';
import { systemClock } from '@sluice/core';
import { replay, type ReplayCounts } from '@sluice/exporters/webhook';
import { replayAftermath } from '../dlq/replayAftermath.js';
import { openReplayReporter } from '../dlq/replayReporter.js';
import type { Environment } from '../environment.js';
import { endEarly } from '../export/endEarly.js';
import { resumeCommand } from '../export/resumeCommand.js';
import type { Invocation } from '../invocation.js';
import { exitCodes } from '../faults/exitCodes.js';
import { inCommandLineWords } from '../faults/inCommandLineWords.js';
import { scrubbed } from '../faults/scrubbed.js';
import { UsageError } from '../faults/usageError.js';
import { endpointOptions, type EndpointChoice } from '../forward/endpointOptions.js';
import type { WatchProgressMode } from '../options/watchProgressMode.js';
import { standardInput } from '../settings/readInput.js';
import { visibleText } from '../terminal/visibleText.js';

/** Options of `sluice dlq replay`. */
export interface DlqReplayOptions extends EndpointChoice {
  /** A file of dead letters. */
  readonly file: string;
  /** The endpoint's address. Never shown beyond its origin. */
  readonly to?: string;
  readonly breakLock?: boolean;
  readonly trustFilesystem?: boolean;
  /** Default: lines. */
  readonly progress?: WatchProgressMode;
  /** Nothing but faults. */
  readonly quiet?: boolean;
}

/** Refusals that are told one by one; the others are only counted. */
const mostTold = 5;

/** `sluice dlq replay`: sends dead letters again. Answers 3 if some are left. */
export async function dlqReplay(
  options: DlqReplayOptions,
  environment: Environment,
  { args }: Invocation,
): Promise<number> {
  const { file, to, concurrency, breakLock, trustFilesystem, progress = 'plain', quiet } = options;
  const { signal, folder, stderr, secrets, command } = environment;
  if (to === undefined) throw new UsageError('Where to? Give --to URL, the address of the service.');
  const endpoint = await endpointOptions(to, options, environment);
  const target = URL.canParse(to) ? new URL(to).origin : '';
  let latest: ReplayCounts | undefined;
  let refused = 0;
  const reporter = openReplayReporter(quiet ? 'silent' : progress, {
    ...{ output: stderr, clock: systemClock, begun: { file, target }, read: () => latest },
  });
  const warn = (message: string): void => {
    reporter.warn(visibleText(scrubbed(inCommandLineWords(message), secrets)));
  };
  for (const warning of environment.warnings) warn(warning);
  try {
    const counts = await replay(resolve(folder, file), {
      ...{ ...endpoint, signal, onWarning: warn },
      onProgress: (now) => {
        latest = now;
      },
      onRefused: ({ id }, error) => {
        refused += 1;
        if (refused <= mostTold) warn(`Record ${id} was refused again. ${error.message}`);
      },
      ...(concurrency !== undefined && { concurrency }),
      ...(breakLock !== undefined && { breakLock }),
      ...(trustFilesystem !== undefined && { trustFileSystem: trustFilesystem }),
    });
    reporter.done(counts);
    return counts.left === 0 ? exitCodes.done : exitCodes.deadLetters;
  } catch (fault) {
    const { text, isAddressCut } = resumeCommand(command, args, '--to');
    const isFromStdin = options.secretFile === standardInput;
    const commands = { goOn: text, isAddressCut, ...(isFromStdin && { fromStdin: 'secret' as const }) };
    return endEarly({ fault, aftermath: replayAftermath(fault, latest, commands) }, reporter, environment);
  }
}
