/** A moment as a wall clock in this place shows it. @example formatTime(new Date()) // '2026-03-01 14:05:09' */
export function formatTime(moment: Date): string {
  const two = (value: number): string => String(value).padStart(2, '0');
  const day = [moment.getFullYear(), two(moment.getMonth() + 1), two(moment.getDate())].join('-');
  return `${day} ${[moment.getHours(), moment.getMinutes(), moment.getSeconds()].map(two).join(':')}`;
}
