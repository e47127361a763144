/** How changes are written. */
export const changeFormats = ['text', 'jsonl'] as const;

export type ChangeFormat = (typeof changeFormats)[number];
