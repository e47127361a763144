/** The command line's spelling of an option of the library. @example flagOf('pageSize') // '--page-size' */
export function flagOf(option: string): string {
  return `--${option.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
}
