/** A partition with one fault, and the check that has to notice it. */
export interface Mutant<F, Given extends readonly unknown[] = []> {
  readonly caughtBy: string;
  readonly factory: (...given: Given) => F | Promise<F>;
}

/** Mutants by what is wrong with them. */
export type Mutants<F, Given extends readonly unknown[] = []> = Readonly<Record<string, Mutant<F, Given>>>;
