import { type Advice, adviceOf } from './errors.js';
import { isRecord } from './values.js';

/** An error as those see it who only watch: plain and frozen, so that nobody alters through it what others will catch. */
export interface ErrorReport {
  readonly name: string;
  readonly message: string;
  /** One of {@link SluiceErrorCode} where Sluice raised it. */
  readonly code?: string;
  /** The message without its advice, where Sluice raised it. */
  readonly summary?: string;
  readonly advice?: readonly Advice[];
  /** Facts about it that are text, numbers or truth values, e.g. `status`. */
  readonly details?: Readonly<Record<string, string | number | boolean>>;
  readonly stack?: string;
  readonly cause?: ErrorReport;
}

/** Errors that are the cause of each other in a circle end somewhere. */
const maxCauses = 5;

const noText = 'Something that has no text.';

/** Reports what was thrown, be it an error, a report of one, or anything else. It throws nothing, whatever that does when it is read. */
export function reportOf(thrown: unknown, causes = maxCauses): ErrorReport {
  const [name, message] = [fieldOf(thrown, 'name'), fieldOf(thrown, 'message')];
  if (typeof message !== 'string' && !isError(thrown)) return Object.freeze({ name: 'Error', message: textOf(thrown) });
  const [code, stack, cause] = [fieldOf(thrown, 'code'), fieldOf(thrown, 'stack'), fieldOf(thrown, 'cause')];
  const [summary, advice] = [fieldOf(thrown, 'summary'), adviceOf(fieldOf(thrown, 'advice'))];
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

/** The same report with all its texts rewritten, e.g. without secrets. */
export function rewritten(report: ErrorReport, rewrite: (text: string) => string): ErrorReport {
  const { name, message, code, summary, advice, details, stack, cause } = report;
  const texts =
    details &&
    Object.entries(details).map(
      ([key, fact]) => [rewrite(key), typeof fact === 'string' ? rewrite(fact) : fact] as const,
    );
  return Object.freeze({
    ...{ name: rewrite(name), message: rewrite(message) },
    ...(code !== undefined && { code: rewrite(code) }),
    ...(summary !== undefined && { summary: rewrite(summary) }),
    ...(advice && { advice }),
    ...(texts && { details: Object.freeze(Object.fromEntries(texts)) }),
    ...(stack !== undefined && { stack: rewrite(stack) }),
    ...(cause && { cause: rewritten(cause, rewrite) }),
  });
}

/** Anything may be thrown, and an error's message may be anything: also what has no text. */
export function textOf(value: unknown): string {
  try {
    return String(value);
  } catch {
    return noText;
  }
}

function isError(thrown: unknown): boolean {
  try {
    return thrown instanceof Error;
  } catch {
    return false;
  }
}

/** Read once: a getter may answer something else each time. */
function fieldOf(thrown: unknown, name: keyof ErrorReport): unknown {
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
