/** How the polls of a watch are told of: in lines where there is something to say, or each as a JSON event. */
export const watchProgressModes = ['plain', 'json'] as const;

export type WatchProgressMode = (typeof watchProgressModes)[number];
