/** What a command can exit with, besides 129, 130 and 143 for signals. */
export const exitCodes = { done: 0, failed: 1, wrongUsage: 2 } as const;
