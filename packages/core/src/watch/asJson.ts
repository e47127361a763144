/** A value as JSON has it, since that is what a restart gives back. What is inside of it stays as it is. */
export function asJson(value: unknown): unknown {
  switch (typeof value) {
    case 'number':
      return Number.isFinite(value) ? value : null;
    case 'function':
    case 'symbol':
      return undefined;
    case 'bigint':
    case 'object':
      return value === null ? null : ofItsOwnMaking(value);
    default:
      return value;
  }
}

/** Dates, URLs and many others say themselves what JSON makes of them. */
function ofItsOwnMaking(value: bigint | object): unknown {
  const toJson: unknown = Reflect.get(Object(value), 'toJSON');
  if (typeof toJson !== 'function') return value;
  const made: unknown = Reflect.apply(toJson, value, []);
  return made;
}
