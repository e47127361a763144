/** How many of the last rows stand in front once all `size` rows have stepped back by `by` places. */
export function rowsInFront(by: number, size: number): number {
  return size === 0 ? 0 : ((by % size) + size) % size;
}
