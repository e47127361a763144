/**
 * What a command can exit with, besides 129, 130 and 143 for signals. `deadLetters`: done, but some records were not taken.
 * `closedOutput`: nobody read the output any more; it is what a shell reports of a program that SIGPIPE ended.
 */
export const exitCodes = { done: 0, failed: 1, wrongUsage: 2, deadLetters: 3, closedOutput: 141 } as const;
