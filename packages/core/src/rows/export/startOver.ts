import { amend, SluiceError } from '../../errors.js';
import { beginAgain, ofResuming, reopen, type ExportJob, type OpenExport } from './openExport.js';
import type { SinkWriter } from '../sink/sink.js';

/** If a partition's cursor is refused more often, its walk is too slow for the API, and restarts would never end. */
const maxRestarts = 3;

/**
 * How to open an export again after an error: with one partition from its start, or as a new run in place of the one
 * that this one resumes. Throws the error if neither helps.
 */
export async function startOver<T>(
  job: ExportJob<T>,
  error: unknown,
  opened: OpenExport<T>,
): Promise<() => Promise<OpenExport<T>>> {
  if (await restartPartition(job, error, opened.writer)) return () => reopen(job);
  if (mayBeginAgain(error, opened)) return () => beginAgain(job, error);
  throw error;
}

/**
 * Removes the rows of a partition from the checkpoint whose cursor the API has refused (see `onExpired`), or whose rows
 * have moved while an increment walked them by offsets. It is walked again. Returns `false` if it may not be.
 */
async function restartPartition<T>(job: ExportJob<T>, error: unknown, writer: SinkWriter<T>): Promise<boolean> {
  const { sink, options, commits, restarts } = job;
  const why = whyRestart(job, error);
  if (!why || !SluiceError.is(error)) return false;
  const { partition } = error.details;
  if (typeof partition !== 'number' || !sink.withoutPartition) return false;
  const counts = why === 'rows-moved' ? (commits.checkpoint?.moved?.[partition] ?? 0) : (restarts.get(partition) ?? 0);
  if (counts >= maxRestarts) {
    // What has failed so often is not advised again.
    Object.assign(error, { advice: why === 'rows-moved' ? [{ kind: 'restart' }] : [] });
    amend(
      error,
      why === 'rows-moved'
        ? `The partition started over ${maxRestarts} times, and rows moved again: request larger pages, or export while less changes.`
        : `The partition started over ${maxRestarts} times, and was refused again. Its cursors may expire before its walk ends: request larger pages, or smaller partitions.`,
    );
    return false;
  }
  if (commits.isBehind) await commits.commit(writer);
  const rows = await commits.restart(partition, why);
  if (rows === undefined) return false;
  if (why === 'cursor-refused') restarts.set(partition, counts + 1);
  options.onWarning?.(`${error.summary} Its ${rows} rows are removed, and the partition starts over.`);
  return true;
}

function whyRestart<T>({ info, options }: ExportJob<T>, error: unknown): 'cursor-refused' | 'rows-moved' | undefined {
  const { onExpired = info.isRepeatable === false ? 'restart-partition' : 'fail' } = options;
  if (SluiceError.is(error, 'cursor-refused')) return onExpired === 'fail' ? undefined : 'cursor-refused';
  return info.increment && SluiceError.is(error, 'rows-moved') ? 'rows-moved' : undefined;
}

/** Whether a new run may succeed where the earlier one, which this one resumes, can't be continued. */
function mayBeginAgain<T>(error: unknown, opened: OpenExport<T>): error is SluiceError {
  if (!opened.mayBeginAgain || !SluiceError.is(error)) return false;
  return ofResuming.includes(error.code) || (!opened.hasWritten && isOfStart(error));
}

/**
 * The API refused the first request, which has a cursor of the run before, or the sink to publish the rows of that run:
 * the next run would fail alike. If either is only away, or the key is refused, that run is resumed later.
 */
function isOfStart({ code, details }: SluiceError): boolean {
  if (code === 'sink') return details['isTemporary'] !== true;
  // Only an error that may be about the cursor has its page.
  return code === 'http' && details['page'] !== undefined;
}
