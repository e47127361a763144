/** How progress is shown: drawn on a terminal, in lines, as JSON events, or not at all but for the last line. */
export const progressModes = ['bar', 'plain', 'json', 'none'] as const;

export type ProgressMode = (typeof progressModes)[number];
