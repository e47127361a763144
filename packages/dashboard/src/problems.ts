import type { EventOf } from '@sluice/core';
import { causeOf } from '@sluice/core/health';
import type { ErrorReport } from '@sluice/core/kit';
import { first, maxName, maxText, shorten } from './fit.js';
import type { Snapshot } from './snapshot.js';

type Problem = Snapshot['problems'][number];

const maxProblems = 20;

/** What an error passes on its way up. */
const errorRanks: readonly string[] = ['request', 'walk', 'watch', 'export'];

/** The last errors, warnings and messages, the latest first. Equal ones are counted. */
export class Problems {
  #list: readonly Problem[] = [];
  #lastError = { message: '', rank: 0 };

  get list(): readonly Problem[] {
    return this.#list;
  }

  report(level: Problem['level'], from: string, message: string, now: number): void {
    const text = shorten(withoutName(from, message), maxText);
    const problem = { at: now, level, from: shorten(from, maxName), message: text };
    const isSame = (each: Problem): boolean =>
      each.level === level && each.from === problem.from && each.message === problem.message;
    const { count = 0 } = this.#list.find(isSame) ?? {};
    const others = this.#list.filter((each) => !isSame(each));
    this.#list = first({ ...problem, count: count + 1 }, others, maxProblems);
  }

  /** An error that goes up, from a request to its walk and on to the export, is one. */
  reportError({ of, name, error }: EventOf<'error'>, now: number): void {
    const { message, summary = message } = error;
    const rank = errorRanks.indexOf(of);
    const isSame = this.#lastError.message === message && this.#lastError.rank < rank;
    this.#lastError = { message, rank };
    if (!isSame) this.report('error', name, summary, now);
  }

  /** A failed attempt, which is repeated. */
  reportFailure(from: string, error: ErrorReport | undefined, now: number): void {
    if (!error) return;
    const cause = causeOf(error);
    const text = withoutName(from, error.summary ?? error.message);
    // A status is in the text.
    this.report('warning', from, cause.startsWith('HTTP') ? text : `${cause}: ${text}`, now);
  }
}

/** The name of the source, with which its errors begin, stands beside them. */
function withoutName(name: string, message: string): string {
  return message.startsWith(`${name}: `) ? message.slice(name.length + 2) : message;
}
