/**
 * A whole number with its thousands apart. By hand: the first number format of a process takes as long as a request to an API nearby.
 *
 * @example formatNumber(12345) // '12,345'
 */
export function formatNumber(value: number): string {
  return Math.round(value)
    .toFixed(0)
    .replace(/\B(?=(?:\d{3})+$)/g, ',');
}

/** A number with its noun. @example formatCount(1, 'page') // '1 page'; formatCount(2, 'retry', 'retries') // '2 retries' */
export function formatCount(value: number, one: string, many = `${one}s`): string {
  return `${formatNumber(value)} ${value === 1 ? one : many}`;
}
