import { type Advice, CheckpointError, ConfigError } from '../../errors.js';
import { startOfPlan } from '../../position.js';
import { newId as randomId, sha256 } from '../../identifiers.js';
import type { Json } from '../source/definition.js';
import { canonicalJson, hashOf } from '../source/fingerprint.js';
import { fitSource, type PageSource } from '../source/pageSource.js';
import type { SourceInfo } from '../source/sourceInfo.js';
import { isRecord } from '../../values.js';
import { type Checkpoint, decodeCheckpoint, isCheckpoint } from './checkpoint.js';
import { checkCompanion, hadCompanion } from './companion.js';
import type { ExportOptions, ExportSetup } from './exportOptions.js';
import { msSince, usualResume } from './oldRows.js';
import type { Sink, SinkReport } from '../sink/sink.js';
import type { StateStore } from '../sink/stateStore.js';
import { findChangedPart } from './watchSettings.js';

export const checkpointName = 'checkpoint';

/** An export and the source that has its plan. */
type PlannedSetup<T> = ExportSetup<T> & { readonly source: PageSource<T> };

type FoundCheckpoint =
  /** For the start of the plan, and not saved yet. `dropsOurs`: it replaces what the run before left in the target. */
  | {
      readonly kind: 'new';
      readonly checkpoint: Checkpoint;
      readonly warning: string | undefined;
      readonly dropsOurs: boolean;
    }
  | { readonly kind: 'earlier'; readonly checkpoint: Checkpoint }
  /** The target of the finished export is unchanged. */
  | { readonly kind: 'finished'; readonly checkpoint: Checkpoint; readonly report: SinkReport };

/**
 * Loads the checkpoint to resume, or makes a new one.
 *
 * @throws CheckpointError if it can't be read or has another plan or key; ConfigError if the plan has no identity.
 */
export async function findCheckpoint<T>(setup: PlannedSetup<T>, state: StateStore): Promise<FoundCheckpoint> {
  const { source, info, sink, options, clock, companion } = setup;
  const { restart, resumeWithin = usualResume, sameProject = false, newId = randomId, concurrency } = options;
  const target = hashTarget(sink);
  const beginNew = async (warning?: string, dropsOurs = false): Promise<FoundCheckpoint> => {
    return { kind: 'new', checkpoint: await createCheckpoint(setup), warning, dropsOurs };
  };
  if (restart) return (await restartWatch(setup, state)) ?? beginNew();
  const record = await state.load(checkpointName);
  if (record === undefined) return beginNew();
  const found = decodeCheckpoint(record);
  const fitted = fitSource(source, concurrency, found.fitted);
  const plan = await hashPlan(fitted.source.info, sink, options);
  const hasSameSettings = found.planHash === plan.hash;
  const hasOtherColumns = !hasSameSettings && sink.addsColumns === true && differInColumns(found, plan);
  const isSamePlan = hasSameSettings || hasOtherColumns;
  if (found.finishedAt !== undefined) {
    // After it, there may be more that is new.
    if (companion || sink.isRefreshed) return beginNew();
    // A finished export is never refused: with another plan or project, or a changed target, it is ignored.
    const isSame = isSamePlan && (sameProject || (await hasSameKey(found, info)));
    const finished =
      isSame && found.sinkPosition !== undefined
        ? await sink.finished?.(found.sinkPosition, options.onWarning)
        : undefined;
    return finished ? { kind: 'finished', checkpoint: found, report: finished } : beginNew();
  }
  const age = msSince(found.savedAt, clock);
  // A run that its budget held up could not go on before.
  const returnedFor = age > resumeWithin ? await info.endpoint?.returnedFor?.() : undefined;
  const isTooOld = Math.min(age, returnedFor ?? age) > resumeWithin;
  const tooOld = `The last commit of the interrupted run (${found.savedAt ?? ''}) is too old to resume after. Its ${found.rows} rows are exported again.`;
  // What a service has received can't be taken back, and a sealed target may be published already.
  const isHidden = sink.delivery === 'exactly-once' && !found.isSealed;
  const isGivenUp = isTooOld && (sink.isRefreshed === true || isHidden);
  const whyReplaced = companion?.judge(found, { isSamePlan, isGivenUp });
  // Old rows must not be shown in place of newer ones. Its plan does not matter: nothing of it is visible yet.
  if (sink.isRefreshed && isTooOld) return beginNew(tooOld);
  if (whyReplaced !== undefined) return beginNew(whyReplaced);
  if ((sink.isRefreshed || !isSamePlan) && (await isPublished(found, sink, target))) return beginNew();
  // What is sealed may be published, and its rows must not be there twice.
  if (hasOtherColumns && (sink.isRefreshed || !found.isSealed))
    return beginNew(
      `The interrupted run began with other columns. Its ${found.rows} rows are exported again.`,
      found.isRestart,
    );
  const changedPart = info.isEndless && !sink.state ? findChangedPart(found.settings, plan.settings) : 'watch';
  // What was found before and is not delivered comes with the new settings, too. A file keeps the form that it has.
  const isCarriedOver = changedPart === 'version' || (changedPart === 'form' && sink.delivery === 'at-least-once');
  if (!isCarriedOver && !isSamePlan) checkPlan(found, plan, sink);
  checkCompanion(companion, found);
  if (found.sinkPosition === undefined && found.target !== target)
    throw new CheckpointError(
      'The state belongs to an export to another target. Give each target a state of its own.',
      {},
      [{ kind: 'restart' }],
    );
  const key = await identifyKey(found.key?.salt ?? newId(), info);
  if (!sameProject) await checkSameKey(found, info, 'The checkpoint');
  const carried = { ...found, planHash: plan.hash, settings: plan.settings, ...(key && { key }) };
  // A position of a watch does not age.
  if (info.isEndless) return { kind: 'earlier', checkpoint: carried };
  if (isHidden && isTooOld) return beginNew(tooOld, !sink.state && found.target === target);
  const pausedFor = (found.pausedFor ?? 0) + age;
  return { kind: 'earlier', checkpoint: { ...carried, pausedFor } };
}

/**
 * Starts over the export of a watch. The watch goes on from its snapshot if something about the export has changed: with
 * the snapshot, what changed since the last poll would go. `undefined` if there is no earlier run of it.
 */
async function restartWatch<T>(setup: PlannedSetup<T>, state: StateStore): Promise<FoundCheckpoint | undefined> {
  const { source, info, sink, options } = setup;
  // A table that mirrors the rows can't do without the snapshot's, and what can't be read is replaced.
  if (!info.isEndless || sink.state) return undefined;
  const found = await state.load(checkpointName).catch(() => undefined);
  if (!isCheckpoint(found) || found.finishedAt !== undefined) return undefined;
  const fitted = fitSource(source, options.concurrency, found.fitted);
  const plan = await hashPlan(fitted.source.info, sink, options);
  const changedPart = findChangedPart(found.settings, plan.settings);
  const { isRestart, ...begun } = await createCheckpoint(setup);
  const beginNew = (checkpoint: Checkpoint, warning: string): FoundCheckpoint => {
    return { kind: 'new', checkpoint, warning, dropsOurs: true };
  };
  const isSameProject = options.sameProject === true || (await hasSameKey(found, info));
  if (changedPart === 'nothing' || changedPart === 'watch' || !isSameProject)
    return beginNew(
      { ...begun, ...(isRestart && { isRestart }) },
      'The watch starts over: all its rows come as `initial`, and what changed since its last poll is not reported.',
    );
  const changed = compareSettings(found.settings, plan.settings).join(', ');
  const goesOn = `the watch goes on from its snapshot. Start over again to discard it.`;
  // Without the sign that the watch starts over, too.
  if (changedPart === 'target' || sink.delivery === 'exactly-once')
    return beginNew(begun, `The target starts over with other settings (${changed}), and ${goesOn}`);
  const checkpoint = { ...found, planHash: plan.hash, settings: plan.settings };
  // The next time, nothing has changed.
  await state.save(checkpointName, checkpoint);
  options.onWarning?.(`The settings changed (${changed}), and ${goesOn}`);
  return { kind: 'earlier', checkpoint };
}

/**
 * Whether all rows are where they belong, although the connection was lost before the export could be marked as
 * finished. Only a sink that keeps its own state publishes in one step, with nothing left to complete or clear away.
 */
async function isPublished<T>(found: Checkpoint, sink: Sink<T>, target: string | undefined): Promise<boolean> {
  const { isSealed, sinkPosition } = found;
  if (!sink.state || !isSealed || sinkPosition === undefined || found.target !== target) return false;
  // What the next run begins with may not be saved yet.
  if (hadCompanion(found)) return false;
  return (await sink.finished?.(sinkPosition)) !== undefined;
}

/** Refuses one without rows, too: a killed run may have left rows that only its own plan identifies as ours. */
function checkPlan(found: Checkpoint, { settings }: ExportPlan, { delivery }: Pick<Sink<never>, 'delivery'>): void {
  const changed = compareSettings(found.settings, settings);
  // A sink that can't truncate may have passed on rows that no checkpoint counts.
  const isEmpty = found.rows === 0 && delivery === 'exactly-once';
  throw new CheckpointError(
    (settings = changed.join(', ')) =>
      `The checkpoint was written with different settings${settings && ` (${settings})`}.${describeMade(found)}${isEmpty ? ' It has no rows yet, so a restart loses none.' : ''}`,
    { changed, source: found.source },
    [{ kind: 'rerun' }, { kind: 'restart' }],
  );
}

export function describeMade({ madeWith }: Checkpoint): string {
  const parts = Object.entries(madeWith ?? {}).map(([name, value]) => `${name}: ${value}`);
  return parts.length === 0 ? '' : ` It was made with ${parts.join('; ')}.`;
}

/** For the start of the plan; it is not saved yet. @throws ConfigError if the plan has no identity. */
export async function createCheckpoint<T>({ source, sink, options, clock }: PlannedSetup<T>): Promise<Checkpoint> {
  const { restart = false, newId = randomId, concurrency, madeWith } = options;
  const {
    source: { info },
    kept: fitted,
  } = fitSource(source, concurrency);
  const { hash, settings } = await hashPlan(info, sink, options);
  const target = hashTarget(sink);
  const key = await identifyKey(newId(), info);
  return {
    v: 1,
    runId: newId(),
    source: info.name,
    planHash: hash,
    settings,
    ...(madeWith && { madeWith }),
    ...(fitted !== undefined && { fitted }),
    ...(restart && { isRestart: true }),
    beganAt: new Date(clock.now()).toISOString(),
    ...(info.partitions !== Infinity && { partitions: info.partitions }),
    ...(target !== undefined && { target }),
    ...(key && { key }),
    position: startOfPlan,
    rows: 0,
    pages: 0,
    begun: {},
  };
}

export function hashTarget({ target }: Pick<Sink<never>, 'target'>): string | undefined {
  return target === undefined ? undefined : hashOf(target);
}

/** @throws CheckpointError if a record was made with another key. */
export async function checkSameKey<T>(
  record: Pick<Checkpoint, 'key'>,
  info: SourceInfo<T>,
  what: string,
  instead: Advice = { kind: 'restart' },
): Promise<void> {
  if (await hasSameKey(record, info)) return;
  throw new CheckpointError(
    `${what} was made with another API key, maybe of another project, whose rows must not be mixed with these.`,
    {},
    [{ kind: 'allow', option: 'sameProject' }, instead],
  );
}

async function hasSameKey<T>({ key }: Pick<Checkpoint, 'key'>, info: SourceInfo<T>): Promise<boolean> {
  const current = key && (await identifyKey(key.salt, info));
  return key?.fingerprint === current?.fingerprint || current === undefined;
}

async function identifyKey<T>(salt: string, { endpoint, checkRestart }: SourceInfo<T>): Promise<Checkpoint['key']> {
  // The state of a watch knows the key, also one that replaced another one while it ran.
  if (checkRestart) return undefined;
  const fingerprint = await endpoint?.keyFingerprint?.(salt);
  return fingerprint === undefined ? undefined : { salt, fingerprint };
}

/** The settings that determine an export's bytes, as hashes: small, and they reveal nothing. */
interface ExportPlan {
  /** SHA-256 of all settings, in hex, whatever the order of their names. */
  readonly hash: string;
  /** A hash of each setting by path, to tell which one changed. */
  readonly settings: Readonly<Record<string, string>>;
}

/** @throws ConfigError if an operator on pages has no version, since a change of it would not be noticed. */
export async function hashPlan<T>(
  info: SourceInfo<T>,
  sink: Sink<T>,
  { sha256: hash = sha256, repeats }: Pick<ExportOptions, 'sha256' | 'repeats'> = {},
): Promise<ExportPlan> {
  if (info.isUnversioned)
    throw new ConfigError(
      "A checkpoint can't tell whether the operator given to pipePages is still the same: name it with pipePages(operator, { version }).",
    );
  const plan: Json = {
    source: info.name,
    asked: info.identity,
    columns: info.schema?.columns ?? null,
    sink: sink.name,
    written: sink.identity,
    // Other rows, as those that are dropped are missing.
    ...(repeats === 'drop' && { repeats }),
  };
  const settings = Object.fromEntries(
    listSettings(plan, '').map(([path, value]) => [path, hashOf(canonicalJson(value))]),
  );
  return { hash: await hash(canonicalJson(plan)), settings };
}

/**
 * The names of the settings in which two plans differ, each once.
 *
 * @example compareSettings(before.settings, now.settings) // ['coin', 'pageSize', 'paging']
 */
export function compareSettings(before: ExportPlan['settings'], now: ExportPlan['settings']): string[] {
  return [...new Set(changedPaths(before, now).map(nameSetting))].sort();
}

function changedPaths(before: ExportPlan['settings'], now: ExportPlan['settings']): string[] {
  const paths = [...new Set([...Object.keys(before), ...Object.keys(now)])];
  return paths.filter((path) => before[path] !== now[path]);
}

/** Whether two plans differ in nothing but the columns of the source. */
function differInColumns(before: Pick<Checkpoint, 'settings'>, now: ExportPlan): boolean {
  return changedPaths(before.settings, now.settings).join() === 'columns';
}

/** Settings that users know by another name, or only as a part of something else. */
const names: readonly (readonly [path: RegExp, name: string])[] = [
  [/^asked(?:\.of)*$/, 'the request'],
  [/^asked(?:\.of)*\.path$/, 'path or a parameter in it'],
  [/^asked(?:\.of)*\.paging\./, 'paging'],
  [/^asked(?:\.of)*\.rowsAt$/, 'path of the rows'],
  [/^written(?:\.of)*$/, 'what the sink writes'],
];

function nameSetting(path: string): string {
  const [, name] = names.find(([known]) => known.test(path)) ?? [];
  return name ?? path.slice(path.lastIndexOf('.') + 1);
}

function listSettings(value: unknown, path: string): [string, unknown][] {
  if (!isRecord(value)) return [[path, value]];
  return Object.entries(value).flatMap(([name, field]) => listSettings(field, path === '' ? name : `${path}.${name}`));
}
