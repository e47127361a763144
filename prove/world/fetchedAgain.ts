/** Pages that a later run requests although an earlier one had them: E4 says how many may be. */
export class FetchedAgain {
  /** Pages that each run requested, and those that it got. */
  readonly #runs: { readonly requested: Set<string>; readonly got: Set<string> }[] = [];

  /** A new run begins. */
  begin(): void {
    this.#runs.push({ requested: new Set(), got: new Set() });
  }

  requested(page: string): void {
    this.#runs.at(-1)?.requested.add(page);
  }

  got(page: string): void {
    this.#runs.at(-1)?.got.add(page);
  }

  /** What is wrong, if a run may lose so many pages. */
  judge(max: number): readonly string[] {
    return this.#runs.flatMap(({ got }, nth) => {
      const later = this.#runs.slice(nth + 1);
      const again = [...got].filter((page) => later.some(({ requested }) => requested.has(page))).length;
      return again > max ? [`${again} pages of run ${nth + 1} were fetched again, and ${max} may.`] : [];
    });
  }
}
