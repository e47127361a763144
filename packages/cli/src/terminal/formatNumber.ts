const grouped = new Intl.NumberFormat('en-US', { maximumFractionDigits: 0 });

/** A whole number with its thousands apart. @example formatNumber(12345) // '12,345' */
export function formatNumber(value: number): string {
  return grouped.format(value);
}

/** A number with its noun. @example formatCount(1, 'page') // '1 page'; formatCount(2, 'retry', 'retries') // '2 retries' */
export function formatCount(value: number, one: string, many = `${one}s`): string {
  return `${formatNumber(value)} ${value === 1 ? one : many}`;
}
