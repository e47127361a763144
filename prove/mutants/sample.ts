import { seeded, shuffled } from '../crash/seeded.js';
import type { Source } from './coverage.js';
import { equivalents, type Equivalent } from './equivalent.js';

/** A mutant that is tried. */
export interface Candidate {
  readonly source: Source;
  readonly mutant: Source['mutants'][number];
  /** `http/pauseGate.ts:46` */
  readonly where: string;
  /** `> -> >=` */
  readonly change: string;
}

export interface SampleOptions {
  /** Of each folder. */
  readonly count: number;
  /** Decides which ones: the same seed takes the same ones of the same sources. */
  readonly seed: number;
  /** Only this folder. */
  readonly folder?: string | undefined;
  /** All of this file, or of this line: `http/pauseGate.ts:46`. */
  readonly at?: string | undefined;
}

/** Mutants of chance, as many of each folder; without those that are known to do the same as the source. */
export function sampled(sources: readonly Source[], { count, seed, folder, at }: SampleOptions): Candidate[] {
  const all = sources.flatMap(candidatesOf);
  if (at !== undefined) return all.filter(({ source, where }) => at === source.name || at === where).filter(isNews);
  const folders = [...new Set(all.map(folderOf))].filter((each) => folder === undefined || each === folder);
  const taken = folders.map((each) => {
    const ofFolder = all.filter((candidate) => folderOf(candidate) === each);
    return shuffled(ofFolder, seeded(`${seed} ${each}`)).slice(0, count);
  });
  // In turn, so that a run that is interrupted says something of each.
  return Array.from({ length: count }, (_, turn) => taken.flatMap((ofFolder) => ofFolder.slice(turn, turn + 1)))
    .flat()
    .filter(isNews);
}

/** Dropped once they are drawn, so that a new one changes nothing of what else a seed draws. */
function isNews(candidate: Candidate): boolean {
  return !equivalents.some((known) => isIt(candidate, known));
}

export function folderOf({ source }: Pick<Candidate, 'source'>): string {
  return source.name.split('/')[0] ?? '';
}

/** Those that no mutant is like any more. */
export function staleEquivalents(sources: readonly Source[]): Equivalent[] {
  const all = sources.flatMap(candidatesOf);
  return equivalents.filter((known) => !all.some((candidate) => isIt(candidate, known)));
}

function candidatesOf(source: Source): Candidate[] {
  return source.mutants.map((mutant) => {
    const { start, end, text, line } = mutant;
    return {
      source,
      mutant,
      where: `${source.name}:${line}`,
      change: `${short(source.text.slice(start, end))} -> ${short(text)}`,
    };
  });
}

function isIt({ source, mutant, change }: Candidate, known: Equivalent): boolean {
  if (source.name !== known.file || change !== known.change) return false;
  return source.text.split('\n')[mutant.line - 1]?.trim() === known.line;
}

/** In one line. */
function short(code: string): string {
  const text = code.replace(/\s+/g, ' ');
  return text.length > 70 ? `${text.slice(0, 45)} … ${text.slice(-20)}` : text;
}
