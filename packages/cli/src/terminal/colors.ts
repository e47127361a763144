import picocolors from 'picocolors';

/** Colours text. Without colours each function returns its text unchanged. */
export interface Colors {
  readonly isColorSupported: boolean;
  readonly bold: (text: string) => string;
  readonly dim: (text: string) => string;
  readonly red: (text: string) => string;
  readonly green: (text: string) => string;
  readonly yellow: (text: string) => string;
  readonly cyan: (text: string) => string;
}

/**
 * The colours of an output: on for terminals or with `FORCE_COLOR`, off if `NO_COLOR` is set to anything.
 *
 * @see https://no-color.org
 */
export function colorsFor(isTerminal: boolean, variables: Readonly<Record<string, string | undefined>>): Colors {
  const isForced = (variables['FORCE_COLOR'] ?? '') !== '' && variables['FORCE_COLOR'] !== '0';
  const isRefused = (variables['NO_COLOR'] ?? '') !== '' || variables['TERM'] === 'dumb';
  return picocolors.createColors(!isRefused && (isTerminal || isForced));
}
