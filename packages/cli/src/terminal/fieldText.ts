/** A field's value for people. The APIs promise no types, so any value can come anywhere. */
export function fieldText(value: unknown): string {
  if (typeof value === 'string') return value;
  if (value === null || value === undefined) return '';
  if (Array.isArray(value)) return value.map(fieldText).join(' ');
  return JSON.stringify(value);
}
