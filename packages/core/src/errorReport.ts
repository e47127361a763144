import { type Advice, adviceOf } from './errors.js';
import { isRecord } from './values.js';

/** An error as observers see it: plain and frozen, so that no observer can change the error that others catch. */
export interface ErrorReport {
  readonly name: string;
  readonly message: string;
  /** One of `SluiceErrorCode`, if Sluice threw it. */
  readonly code?: string;
  /** The message without its advice, if Sluice threw it. */
  readonly summary?: string;
  readonly advice?: readonly Advice[];
  /** Details that are texts, numbers or booleans, e.g. `status`. */
  readonly details?: Readonly<Record<string, string | number | boolean>>;
  readonly stack?: string;
  readonly cause?: ErrorReport;
}

/** Limits circular causes. */
const maxCauses = 5;

const noText = 'Something that has no text.';

/** Creates a report of any thrown value. It never throws, even if a getter of that value does. */
export function reportOf(thrown: unknown, causes = maxCauses): ErrorReport {
  const name = fieldOf(thrown, 'name');
  const message = fieldOf(thrown, 'message');
  if (typeof message !== 'string' && !isError(thrown)) return Object.freeze({ name: 'Error', message: textOf(thrown) });
  const code = fieldOf(thrown, 'code');
  const stack = fieldOf(thrown, 'stack');
  const cause = fieldOf(thrown, 'cause');
  const summary = fieldOf(thrown, 'summary');
  const advice = adviceOf(fieldOf(thrown, 'advice'));
  const details = plainDetails(fieldOf(thrown, 'details'));
  return Object.freeze({
    name: name === undefined ? 'Error' : textOf(name),
    message: message === undefined ? noText : textOf(message),
    ...(typeof code === 'string' && { code }),
    ...(typeof summary === 'string' && { summary }),
    ...(advice.length > 0 && { advice }),
    ...(details && { details }),
    ...(typeof stack === 'string' && { stack }),
    ...(cause !== undefined && causes > 0 && { cause: reportOf(cause, causes - 1) }),
  });
}

/** The text of any value, even one that cannot be converted. */
export function textOf(value: unknown): string {
  try {
    return String(value);
  } catch {
    return noText;
  }
}

/** Whether a value is an error. It never throws. */
export function isError(thrown: unknown): boolean {
  try {
    return thrown instanceof Error;
  } catch {
    return false;
  }
}

/** A field of any value; `undefined` if its getter throws. Read once: a getter may return other values each time. */
export function fieldOf(thrown: unknown, name: PropertyKey): unknown {
  try {
    return typeof thrown === 'object' && thrown !== null ? Reflect.get(thrown, name) : undefined;
  } catch {
    return undefined;
  }
}

function plainDetails(details: unknown): ErrorReport['details'] {
  const plain: [string, string | number | boolean][] = [];
  try {
    if (!isRecord(details)) return undefined;
    for (const [name, value] of Object.entries(details))
      if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean')
        plain.push([name, value]);
  } catch {
    return undefined;
  }
  return Object.freeze(Object.fromEntries(plain));
}
