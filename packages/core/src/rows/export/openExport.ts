import { settlesWithin } from '../../clock.js';
import { amend, SluiceError, type SluiceErrorCode } from '../../errors.js';
import { newId as randomId } from '../../identifiers.js';
import type { Page } from '../source/page.js';
import { fitSource, type PageSource } from '../source/pageSource.js';
import type { SourceInfo } from '../source/sourceInfo.js';
import type { PagesOptions } from '../source/pagesOptions.js';
import { notify } from '../source/sourceEvent.js';
import type { Commits } from './commits.js';
import type { ExportReport, ExportSetup } from './exportOptions.js';
import { findCheckpoint, createCheckpoint, hashTarget } from './findCheckpoint.js';
import { reportOutages } from './reports.js';
import type { SinkContext, SinkReport, SinkWriter } from '../sink/sink.js';

/** What an export works with from its start to its end. */
export interface ExportJob<T> extends ExportSetup<T> {
  readonly source: PageSource<T>;
  readonly commits: Commits;
  /** How often each partition started over. */
  readonly restarts: Map<number, number>;
  /** Ms in which it commits what is fetched, and its source ends. 0 without state. */
  readonly stopWithin: number;
  /** No more pages are requested. */
  readonly stopped: AbortSignal;
  /** Calls of the sink must end, too. */
  readonly cancelled: AbortSignal;
}

/** A source and a sink that are open. */
export interface OpenExport<T> {
  readonly writer: SinkWriter<T>;
  readonly pages: AsyncIterator<Page<T>>;
  /**
   * Cancels the pages, once. Resolves when the source has ended, or after so many ms (default `stopWithin`), as it may
   * hang. One that has state of its own is waited for without a limit: the next run needs its lock.
   */
  readonly stopPages: (within?: number) => Promise<unknown>;
  /** The target had a position to resume from. */
  readonly isResumed: boolean;
  /** If resuming fails, the earlier run may be given up for a new one. */
  readonly mayBeginAgain: boolean;
  /** The sink was given a page since it was opened, maybe in vain. */
  hasWritten: boolean;
}

/** An earlier run has finished this export. */
interface FinishedExport {
  readonly finished: SinkReport & Pick<ExportReport, 'finishedAt'>;
}

/** What resuming may raise, and a new run would not. That another run took over raises `lock`. */
export const ofResuming: readonly SluiceErrorCode[] = [
  'cursor-refused',
  'rows-moved',
  'no-progress',
  'rows-missing',
  'rows-repeated',
  'checkpoint',
];

/** Finds the checkpoint, and opens source and sink there. The state is locked. */
export async function openExport<T>(job: ExportJob<T>): Promise<OpenExport<T> | FinishedExport> {
  const { state, commits, options } = job;
  const { restart = false, onWarning } = options;
  if (!state) return open(job, { restart });
  const found = await findCheckpoint(job, state);
  if (found.kind === 'new' && found.warning !== undefined) onWarning?.(found.warning);
  await commits.take(found.checkpoint);
  if (!restart) commits.reportCommitted(commits.checkpoint);
  if (found.kind === 'new') return openNew(job, restart || found.dropsOurs);
  if (found.kind === 'earlier') return openEarlier(job);
  const { finishedAt } = found.checkpoint;
  return { finished: { ...found.report, ...(finishedAt !== undefined && { finishedAt }) } };
}

/**
 * Gives up the run that this one resumes, and opens a new one. What that run left is dropped when the sink opens, after
 * the new checkpoint is saved: a kill in between resumes it again.
 */
export async function beginAgain<T>(job: ExportJob<T>, error: SluiceError): Promise<OpenExport<T>> {
  const { commits, options } = job;
  const { rows = 0 } = commits.checkpoint ?? {};
  options.onWarning?.(`${error.summary} So the interrupted run can't be resumed. Its ${rows} rows are exported again.`);
  await commits.close();
  await commits.take(await createCheckpoint(job));
  return openNew(job, options.restart);
}

/** Opens an export at its last commit. */
export function reopen<T>(job: ExportJob<T>): Promise<OpenExport<T>> {
  const { sinkPosition, isSealed = false } = job.commits.checkpoint ?? {};
  // Killed before its first commit. That run had checked the target, so what is there now is ours.
  return open(job, sinkPosition === undefined ? { restart: true } : { resumeAt: { sinkPosition, isSealed } });
}

async function openEarlier<T>(job: ExportJob<T>): Promise<OpenExport<T>> {
  const mayBeginAgain = job.sink.isRefreshed ?? false;
  try {
    return { ...(await reopen(job)), mayBeginAgain };
  } catch (error) {
    // A sink that can't be opened says nothing of the rows.
    if (mayBeginAgain && SluiceError.is(error) && ofResuming.includes(error.code)) return beginAgain(job, error);
    if (SluiceError.is(error, 'checkpoint') && isOfOtherTarget(job))
      amend(
        error,
        'That checkpoint was written by an export to another target: use that one again, or give this one a state of its own.',
      );
    throw error;
  }
}

/** A file may have been moved with its checkpoint, so this is known only once it does not match. */
function isOfOtherTarget<T>({ commits, sink }: ExportJob<T>): boolean {
  return commits.checkpoint !== undefined && commits.checkpoint.target !== hashTarget(sink);
}

async function openNew<T>(job: ExportJob<T>, restart = false): Promise<OpenExport<T>> {
  const { info, sink, commits, options, stopped } = job;
  await sink.check?.(createContext(job, { restart }));
  if (options.restart) await info.checkRestart?.(stopped);
  // The first requests need not wait for the checkpoint and the target, unless the source has state of its own.
  const walk = hasState(info) ? openWalk(job) : askFirst(openWalk(job));
  try {
    await commits.saveFirst();
  } catch (error) {
    await walk.stopPages();
    throw error;
  }
  try {
    return await open(job, { restart }, walk);
  } catch (error) {
    // If something was left behind, the checkpoint stays: only it says that this is ours.
    const isClean = Promise.resolve(sink.check?.(createContext(job, { restart: false })));
    await isClean.then(() => commits.remove()).catch(() => undefined);
    throw error;
  }
}

type Opening = Pick<SinkContext<never>, 'resumeAt'> & { readonly restart?: boolean };

async function open<T>(job: ExportJob<T>, how: Opening, walk = openWalk(job)): Promise<OpenExport<T>> {
  try {
    const writer = await job.sink.open(createContext(job, how));
    return { ...walk, writer, isResumed: how.resumeAt !== undefined, mayBeginAgain: false, hasWritten: false };
  } catch (error) {
    await walk.stopPages();
    throw error;
  }
}

type OpenWalk<T> = Pick<OpenExport<T>, 'pages' | 'stopPages'>;

/** Before the target is touched, since invalid options are rejected here. */
function openWalk<T>(job: ExportJob<T>): OpenWalk<T> {
  const { info, options, commits, stopWithin, clock } = job;
  const { source } = fitSource(job.source, options.concurrency, commits.checkpoint?.fitted);
  const pages = source.pages(choosePages(job))[Symbol.asyncIterator]();
  let stopped: Promise<unknown> | undefined;
  const stopPages = async (within = stopWithin): Promise<unknown> => {
    stopped ??= (async () => pages.return?.())().catch(() => undefined);
    if (hasState(info)) return stopped;
    return within > 0 ? settlesWithin(clock, within, stopped) : undefined;
  };
  return { pages, stopPages };
}

/** Requests the first page now. */
function askFirst<T>({ pages, stopPages }: OpenWalk<T>): OpenWalk<T> {
  let first: Promise<IteratorResult<Page<T>>> | undefined = pages.next();
  // Whoever asks for it gets its error.
  first.catch(() => undefined);
  const next = (): Promise<IteratorResult<Page<T>>> => {
    const page = first ?? pages.next();
    first = undefined;
    return page;
  };
  return { pages: { next }, stopPages };
}

/** A watch has a log and a lock of its own, and a source whose partitions are found by its walk, their log. */
function hasState({ isEndless, partitions }: SourceInfo<never>): boolean {
  return isEndless === true || partitions === Infinity;
}

function choosePages<T>(job: ExportJob<T>): PagesOptions {
  const { info, sink, options, commits, companion, stopped, clock } = job;
  const { checkpoint, partitionLog } = commits;
  // A sink that is not refreshed removes no rows of an earlier run.
  const removesRows = info.partitions === Infinity && sink.isRefreshed;
  return {
    startAt: commits.position,
    concurrency: options.concurrency,
    prefetch: options.prefetch,
    newHistory: chooseHistory(job),
    ...companion?.walk,
    partitionLog: partitionLog && checkpoint && { log: partitionLog, runId: checkpoint.runId },
    requireTotal: options.requireTotal,
    onShort: removesRows ? (gap) => (commits.planGap = gap) : undefined,
    repeats: commits.keys && (options.repeats ?? 'keep'),
    keys: commits.keys,
    drain: stopped,
    clock,
  };
}

/** The id under which a source starts over. Every run of a restarted export passes it: the first may be killed. */
function chooseHistory<T>({ commits, options }: ExportJob<T>): string | undefined {
  const { checkpoint } = commits;
  if (checkpoint) return checkpoint.isRestart && checkpoint.runId;
  return options.restart ? (options.newId ?? randomId)() : undefined;
}

function createContext<T>(job: ExportJob<T>, how: Opening): SinkContext<T> {
  const { info, sink, state, commits, options, clock, cancelled } = job;
  const { uncommitted } = job.source;
  const list =
    how.resumeAt &&
    uncommitted &&
    ((of: 'first' | 'before') => () =>
      uncommitted({ startAt: commits.position, newHistory: chooseHistory(job) }, cancelled, of));
  return {
    source: info.name,
    schema: info.schema,
    isEndless: info.isEndless ?? false,
    resumeAt: how.resumeAt,
    restart: how.restart ?? false,
    ...job.companion?.sink,
    stateFolder: state?.folder,
    log: state && ((name) => state.log(name)),
    recommit: state && commits.recommit,
    uncommitted: list?.('first'),
    committed: list?.('before'),
    clock,
    warn: options.onWarning,
    onDelivery: (delivery) =>
      notify(info.endpoint, { type: 'delivery', source: info.name, sink: sink.name, ...delivery }),
    onOutage: reportOutages(info, sink.name),
    signal: cancelled,
  };
}
