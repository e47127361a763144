/** Pages that a later run requests although an earlier one had them: E4 says how many may be. */
export class Refetches {
  /** Pages that each run requested, and those that it got. */
  readonly #runs: { readonly requested: Set<string>; readonly got: Map<string, number>; endedAt: number }[] = [];

  /** A new run begins. */
  begin(): void {
    this.#runs.push({ requested: new Set(), got: new Map(), endedAt: -Infinity });
  }

  requested(page: string): void {
    this.#runs.at(-1)?.requested.add(page);
  }

  got(page: string, at: number): void {
    this.#runs.at(-1)?.got.set(page, at);
  }

  /** The run was killed. @param lost ms in which it could commit nothing */
  end(at: number, lost: number): void {
    const run = this.#runs.at(-1);
    if (run) run.endedAt = at - lost;
  }

  /** What is wrong, if a run may lose so many pages. */
  judge(max: number): readonly string[] {
    return this.#runs.flatMap(({ got }, nth) => {
      const later = this.#runs.slice(nth + 1);
      const again = [...got.keys()].filter((page) => later.some(({ requested }) => requested.has(page))).length;
      return again > max ? [`${again} pages of run ${nth + 1} were fetched again, and ${max} may.`] : [];
    });
  }

  /** What is wrong, if a run that is killed may lose what it got in so many ms. */
  judgeTime(max: number): readonly string[] {
    return this.#runs.flatMap(({ got, endedAt }, nth) => {
      const later = this.#runs.slice(nth + 1);
      const old = [...got].filter(
        ([page, at]) => at < endedAt - max && later.some(({ requested }) => requested.has(page)),
      );
      return old.length > 0 ? [`${old.length} pages that run ${nth + 1} had for ${max} ms were fetched again.`] : [];
    });
  }
}
