/** The integer value of an option; ends the process with exit code 2 if it is not an integer, or too small. */
export function wholeNumber(name: string, text: string, min: number): number {
  if (/^\d{1,9}$/.test(text) && Number(text) >= min) return Number(text);
  return refuse(`--${name} is "${text}": give a whole number of at least ${min}.`);
}

/** Ends the process because of wrong options. */
export function refuse(why: string): never {
  console.error(why);
  process.exit(2);
}
