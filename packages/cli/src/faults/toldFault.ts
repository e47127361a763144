/** What ended a command was already told, e.g. as an event of `--progress json`; only the exit code is left. */
export class ToldFault extends Error {
  override readonly name = 'ToldFault';
  readonly exitCode: number;

  constructor(exitCode: number) {
    super('The fault was told already.');
    this.exitCode = exitCode;
  }
}
