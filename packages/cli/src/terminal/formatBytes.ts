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
