import { CheckpointError, ConfigError } from '../errors.js';
import { startOfPlan } from '../position.js';
import { newId as randomId, sha256, type Identifiers } from '../identifiers.js';
import type { Json } from '../source/definition.js';
import { hashOf } from '../source/fingerprint.js';
import type { SourceInfo } from '../source/source.js';
import { type Checkpoint, decodeCheckpoint } from './checkpoint.js';
import type { Sink, SinkReport } from './sink.js';
import type { StateStore } from './stateStore.js';

export const checkpointName = 'checkpoint';

interface CheckpointSearch<T> {
  readonly info: SourceInfo<T>;
  readonly sink: Sink<T>;
  readonly state: StateStore;
  /** Whatever is there is not looked at. */
  readonly restart: boolean;
  /** A checkpoint that was made with another key is taken for one of the same project. */
  readonly sameProject: boolean;
  readonly newId?: Identifiers['newId'] | undefined;
  readonly sha256?: Identifiers['sha256'] | undefined;
}

/** A checkpoint, and whether it was there: a new one is not in the store yet. */
interface FoundCheckpoint {
  readonly checkpoint: Checkpoint;
  readonly isNew: boolean;
  /** What the finished export has left, where the checkpoint is that of one, and all of it is still there. */
  readonly finished?: SinkReport;
}

/**
 * The checkpoint to go on from, or a new one of the plan's start.
 *
 * @throws CheckpointError if there is one that can't be read, or is of another plan or key; ConfigError if the plan has no identity.
 */
export async function findCheckpoint<T>(search: CheckpointSearch<T>): Promise<FoundCheckpoint> {
  const { info, sink, state, restart, sameProject, newId = randomId } = search;
  const plan = await exportPlan(info, sink, search.sha256);
  const record = restart ? undefined : await state.load(checkpointName);
  const target = sink.target === undefined ? undefined : hashOf(sink.target);
  const anew = async (): Promise<FoundCheckpoint> => {
    const first = await firstCheckpoint(info, plan, { target, newId });
    return { checkpoint: restart ? { ...first, isRestart: true } : first, isNew: true };
  };
  if (record === undefined) return anew();
  const found = decodeCheckpoint(record);
  if (found.finishedAt !== undefined) {
    // It keeps nothing back: of another plan or project, or without its target, it counts for nothing.
    const isSame = found.planHash === plan.hash && (sameProject || (await isOfKey(found, info)));
    const finished = isSame && found.sinkPosition !== undefined ? await sink.finished?.(found.sinkPosition) : undefined;
    return finished ? { checkpoint: found, isNew: false, finished } : anew();
  }
  checkPlan(found, plan, sink);
  if (found.sinkPosition === undefined && found.target !== target)
    throw new CheckpointError(
      'The state belongs to an export to another target. Give each target a state of its own.',
      {},
      [{ kind: 'restart' }],
    );
  const key = await currentKey(found.key?.salt ?? newId(), info);
  if (!sameProject && !(await isOfKey(found, info)))
    throw new CheckpointError(
      'The checkpoint was made with another API key, maybe of another project, whose rows must not be mixed with these.',
      {},
      [{ kind: 'allow', option: 'sameProject' }, { kind: 'restart' }],
    );
  return { checkpoint: key ? { ...found, key } : found, isNew: false };
}

/** One without a row is refused as well: whoever was killed may have left rows behind it, and only its own plan knows them for ours. */
function checkPlan(
  found: Checkpoint,
  { hash, settings }: ExportPlan,
  { delivery }: Pick<Sink<never>, 'delivery'>,
): void {
  if (found.planHash === hash) return;
  const changed = changedSettings(found.settings, settings);
  const what = changed.length === 0 ? '' : ` (${changed.join(', ')})`;
  // What can't go back to a place may have passed on rows that no checkpoint speaks of.
  const isEmpty = found.rows === 0 && delivery === 'exactly-once';
  throw new CheckpointError(
    `The checkpoint was written with other settings${what}.${isEmpty ? ' It has no rows yet, so a restart loses none.' : ''}`,
    { changed, source: found.source },
    [{ kind: 'rerun' }, { kind: 'restart' }],
  );
}

async function firstCheckpoint<T>(
  info: SourceInfo<T>,
  { hash, settings }: ExportPlan,
  { target, newId }: { readonly target: string | undefined; readonly newId: () => string },
): Promise<Checkpoint> {
  const key = await currentKey(newId(), info);
  return {
    v: 1,
    runId: newId(),
    ...{ source: info.name, partitions: info.partitions, planHash: hash, settings },
    ...(target !== undefined && { target }),
    ...(key && { key }),
    ...{ position: startOfPlan, rows: 0, pages: 0, begun: {} },
  };
}

async function isOfKey<T>({ key }: Checkpoint, info: SourceInfo<T>): Promise<boolean> {
  const current = key && (await currentKey(key.salt, info));
  return key?.fingerprint === current?.fingerprint || current === undefined;
}

async function currentKey<T>(salt: string, { keyFingerprint }: SourceInfo<T>): Promise<Checkpoint['key']> {
  return keyFingerprint && { salt, fingerprint: await keyFingerprint(salt) };
}

/** What decides an export's bytes, as hashes: small, and it tells nothing of what it stands for. */
interface ExportPlan {
  /** Of all of it, in hex (SHA-256). Equal plans have equal hashes, in whatever order they name things. */
  readonly hash: string;
  /** Of each of its settings, by path, so that it can be told which one changed. */
  readonly settings: Readonly<Record<string, string>>;
}

/** @throws ConfigError if an operator on the source's pages has no version, since it can't be told then what it does. */
export async function exportPlan<T>(info: SourceInfo<T>, sink: Sink<T>, hash = sha256): Promise<ExportPlan> {
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
  };
  const settings = Object.fromEntries(settingsOf(plan, '').map(([path, value]) => [path, hashOf(canonical(value))]));
  return { hash: await hash(canonical(plan)), settings };
}

/**
 * The names of the settings in which two plans differ, each once.
 *
 * @example changedSettings(before.settings, now.settings) // ['coin', 'pageSize', 'paging']
 */
export function changedSettings(before: ExportPlan['settings'], now: ExportPlan['settings']): string[] {
  const paths = [...new Set([...Object.keys(before), ...Object.keys(now)])];
  const changed = paths.filter((path) => before[path] !== now[path]);
  return [...new Set(changed.map(nameOf))].sort();
}

/** Settings whose own names say nothing to people: they are ours, or a part of something that people know as a whole. */
const names: readonly (readonly [path: RegExp, name: string])[] = [
  [/^asked(?:\.of)*$/, 'what is asked for'],
  [/^asked(?:\.of)*\.path$/, 'path or a parameter in it'],
  [/^asked(?:\.of)*\.paging\./, 'paging'],
  [/^asked(?:\.of)*\.rowsAt$/, 'place of the rows'],
  [/^written(?:\.of)*$/, 'what the sink writes'],
];

function nameOf(path: string): string {
  const [, name] = names.find(([known]) => known.test(path)) ?? [];
  return name ?? path.slice(path.lastIndexOf('.') + 1);
}

function settingsOf(value: Json, path: string): [string, Json][] {
  if (typeof value !== 'object' || value === null || isList(value)) return [[path, value]];
  return Object.entries(value).flatMap(([name, field]) => settingsOf(field, path === '' ? name : `${path}.${name}`));
}

/** JSON with names in order. */
function canonical(value: Json): string {
  if (isList(value)) return `[${value.map(canonical).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const fields = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${fields.map(([name, field]) => `${JSON.stringify(name)}:${canonical(field)}`).join(',')}}`;
}

function isList(value: Json): value is readonly Json[] {
  return Array.isArray(value);
}
