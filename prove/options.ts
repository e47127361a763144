/** The value of an option that takes a whole number; ends the process with exit code 2 if it is not one, or too small. */
export function wholeNumber(name: string, text: string, min: number): number {
  if (/^\d{1,9}$/.test(text) && Number(text) >= min) return Number(text);
  return refuse(`--${name} is "${text}": give a whole number of at least ${min}.`);
}

/** Ends the process as one that was started with wrong options. */
export function refuse(why: string): never {
  console.error(why);
  process.exit(2);
}
