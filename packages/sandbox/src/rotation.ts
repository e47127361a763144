/** How many of the last rows are at the front after all `size` rows have moved back by `by` places. */
export function rowsInFront(by: number, size: number): number {
  return size === 0 ? 0 : ((by % size) + size) % size;
}
