const units = ['kB', 'MB', 'GB', 'TB', 'PB'] as const;

/** A size in decimal units. @example formatBytes(4_120_000) // '4.1 MB' */
export function formatBytes(bytes: number): string {
  if (bytes < 1000) return `${String(bytes)} B`;
  let value = bytes / 1000;
  let unit: string = units[0];
  for (const next of units.slice(1)) {
    if (value < 999.5) break;
    value /= 1000;
    unit = next;
  }
  return `${value < 9.95 ? value.toFixed(1) : value.toFixed(0)} ${unit}`;
}

/** A duration in ms for people. @example formatDuration(3240) // '3.2 s'; formatDuration(125_000) // '2 min 5 s' */
export function formatDuration(ms: number): string {
  if (ms < 999.5) return `${String(Math.round(ms))} ms`;
  if (ms < 9950) return `${(ms / 1000).toFixed(1)} s`;
  const seconds = Math.round(ms / 1000);
  if (seconds < 60) return `${String(seconds)} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${String(minutes)} min ${String(seconds % 60)} s`;
  return `${String(Math.floor(minutes / 60))} h ${String(minutes % 60)} min`;
}

/** An estimate in whole seconds, since tenths would flicker. @example formatTimeLeft(3240) // '4 s' */
export function formatTimeLeft(ms: number): string {
  const seconds = Math.ceil(ms / 1000);
  return seconds < 60 ? `${String(seconds)} s` : formatDuration(seconds * 1000);
}

/** Without `Intl`, whose first use in a process is as slow as a request. @example formatNumber(12345) // '12,345' */
export function formatNumber(value: number): string {
  return Math.round(value)
    .toFixed(0)
    .replace(/\B(?=(?:\d{3})+$)/g, ',');
}

/** @example formatCount(1, 'page') // '1 page'; formatCount(2, 'retry', 'retries') // '2 retries' */
export function formatCount(value: number, one: string, many = `${one}s`): string {
  return `${formatNumber(value)} ${value === 1 ? one : many}`;
}

/** A moment in local time. @example formatTime(new Date()) // '2026-03-01 14:05:09' */
export function formatTime(moment: Date): string {
  const two = (value: number): string => String(value).padStart(2, '0');
  const day = [moment.getFullYear(), two(moment.getMonth() + 1), two(moment.getDate())].join('-');
  return `${day} ${[moment.getHours(), moment.getMinutes(), moment.getSeconds()].map(two).join(':')}`;
}

/** @example formatMinute('2026-11-28T02:00:01.250Z') // '2026-11-28 02:00 UTC' */
export function formatMinute(time: string): string {
  return time.replace('T', ' ').replace(/:\d\d(\.\d+)?Z$/, ' UTC');
}

/** A field's value for people. Any value is possible: the APIs do not promise types. */
export function fieldText(value: unknown): string {
  if (typeof value === 'string') return value;
  if (value === null || value === undefined) return '';
  if (Array.isArray(value)) return value.map(fieldText).join(' ');
  return JSON.stringify(value);
}
