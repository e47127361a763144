/** An argument or the environment can't be used. The command ends with exit code 2, before any request. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}
