import { SluiceError } from './errors.js';

/** An error as those see it who only watch: plain and frozen, so that nobody alters through it what others will catch. */
export interface ErrorReport {
  readonly name: string;
  readonly message: string;
  /** One of {@link SluiceErrorCode} where Sluice raised it. */
  readonly code?: string;
  /** Facts about it that are text, numbers or truth values, e.g. `status`. */
  readonly details?: Readonly<Record<string, string | number | boolean>>;
  readonly stack?: string;
  readonly cause?: ErrorReport;
}

/** Errors that are the cause of each other in a circle end somewhere. */
const mostCauses = 5;

/** Reports what was thrown, be it an error or not. */
export function reportOf(error: unknown, causes = mostCauses): ErrorReport {
  if (!(error instanceof Error)) return Object.freeze({ name: 'Error', message: textOf(error) });
  const code = 'code' in error && typeof error.code === 'string' ? error.code : undefined;
  return Object.freeze({
    name: textOf(error.name),
    message: textOf(error.message),
    ...(code !== undefined && { code }),
    ...(SluiceError.is(error) && { details: plainDetails(error.details) }),
    ...(typeof error.stack === 'string' && { stack: error.stack }),
    ...(error.cause !== undefined && causes > 0 && { cause: reportOf(error.cause, causes - 1) }),
  });
}

/** The same report with all its texts rewritten, e.g. without secrets. */
export function rewritten(report: ErrorReport, rewrite: (text: string) => string): ErrorReport {
  const { name, message, code, details, stack, cause } = report;
  const texts =
    details &&
    Object.entries(details).map(([key, fact]) => [key, typeof fact === 'string' ? rewrite(fact) : fact] as const);
  return Object.freeze({
    ...{ name: rewrite(name), message: rewrite(message) },
    ...(code !== undefined && { code: rewrite(code) }),
    ...(texts && { details: Object.freeze(Object.fromEntries(texts)) }),
    ...(stack !== undefined && { stack: rewrite(stack) }),
    ...(cause && { cause: rewritten(cause, rewrite) }),
  });
}

function plainDetails(details: Readonly<Record<string, unknown>>): Readonly<Record<string, string | number | boolean>> {
  const plain: [string, string | number | boolean][] = [];
  for (const [name, value] of Object.entries(details))
    if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean') plain.push([name, value]);
  return Object.freeze(Object.fromEntries(plain));
}

/** Anything may be thrown, and an error's message may be anything: also what has no text. */
function textOf(value: unknown): string {
  try {
    return String(value);
  } catch {
    return 'Something that has no text.';
  }
}
