/** A command could not do its work, and its message says all of it. The command ends with exit code 1. */
export class Failure extends Error {
  override readonly name = 'Failure';
}
