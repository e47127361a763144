import { Random } from '../../test/kit/random.js';
import type { Source } from './coverage.js';
import { equivalents, type Equivalent } from './equivalent.js';

/** A selected mutant. */
export interface Candidate {
  readonly source: Source;
  readonly mutant: Source['mutants'][number];
  /** `http/requestWindows.ts:46` */
  readonly where: string;
  /** `> -> >=` */
  readonly change: string;
}

export interface SampleOptions {
  /** Per folder. */
  readonly count: number;
  /** Selects them: the same seed selects the same ones of the same sources. */
  readonly seed: number;
  /** Only this folder. */
  readonly folder?: string | undefined;
  /** All of this file, or of this line: `http/requestWindows.ts:46`. */
  readonly at?: string | undefined;
}

/** Random mutants, equally many per folder, without those known to behave like the source. */
export function sampled(sources: readonly Source[], { count, seed, folder, at }: SampleOptions): Candidate[] {
  const all = sources.flatMap(candidatesOf);
  if (at !== undefined) return all.filter(({ source, where }) => at === source.name || at === where).filter(isNews);
  const folders = [...new Set(all.map(folderOf))].filter((each) => folder === undefined || each === folder);
  const taken = folders.map((each) => {
    const ofFolder = all.filter((candidate) => folderOf(candidate) === each);
    return new Random(`${seed} ${each}`).shuffle(ofFolder).slice(0, count);
  });
  // Folders take turns, so that an interrupted run has results for each.
  return Array.from({ length: count }, (_, turn) => taken.flatMap((ofFolder) => ofFolder.slice(turn, turn + 1)))
    .flat()
    .filter(isNews);
}

/** They are dropped after they are drawn, so that a new one does not change what else a seed draws. */
function isNews(candidate: Candidate): boolean {
  return !equivalents.some((known) => isIt(candidate, known));
}

/** `http`, or one of the rooms of the kernel: `rows/source`. */
export function folderOf({ source }: Pick<Candidate, 'source'>): string {
  const [folder = '', room = ''] = source.name.split('/');
  return folder === 'rows' ? `${folder}/${room}` : folder;
}

/** Those that match no mutant any more. */
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
