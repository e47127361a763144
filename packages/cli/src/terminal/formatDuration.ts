/** A span of ms, as exact as a person wants it. @example formatDuration(3240) // '3.2 s'; formatDuration(125_000) // '2 min 5 s' */
export function formatDuration(ms: number): string {
  if (ms < 999.5) return `${String(Math.round(ms))} ms`;
  if (ms < 9950) return `${(ms / 1000).toFixed(1)} s`;
  const seconds = Math.round(ms / 1000);
  if (seconds < 60) return `${String(seconds)} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${String(minutes)} min ${String(seconds % 60)} s`;
  return `${String(Math.floor(minutes / 60))} h ${String(minutes % 60)} min`;
}

/** An estimate in whole seconds: tenths would only flicker. @example formatTimeLeft(3240) // '4 s' */
export function formatTimeLeft(ms: number): string {
  const seconds = Math.ceil(ms / 1000);
  return seconds < 60 ? `${String(seconds)} s` : formatDuration(seconds * 1000);
}
