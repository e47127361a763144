/**
 * Whether a file is the lock of a process, also while it is written under another name. That of a process that has ended
 * does no harm: the next one removes it.
 */
export function isLock(path: string): boolean {
  return /\/(sluice-[\da-f-]+-new-)?lock-[^/]*$/.test(path);
}
