/** Pages that a process gets in full although it has them: a service that sends tags would say that they have not changed. */
export class FetchedInFull {
  readonly wrong: string[] = [];
  #seen: Set<string> | undefined;

  /** From now on nothing changes or fails, until the process ends. */
  begin(): void {
    this.#seen = new Set();
  }

  got({ search }: URL, status: number): void {
    if (status !== 200) return;
    if (this.#seen?.has(search)) this.wrong.push(`A page that had not changed was requested in full again: ${search}`);
    this.#seen?.add(search);
  }
}
