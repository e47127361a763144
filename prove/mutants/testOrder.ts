/** The settings of a test run, as JSON in the file that `SLUICE_TEST_ORDER` names. */
export interface TestOrder {
  /** Modules with another text than their file, by path. */
  readonly texts: Readonly<Record<string, string>>;
  /** The test files in order, by path, each with the titles of the tests to run. */
  readonly tests: Readonly<Record<string, 'all' | readonly string[]>>;
}

/** The messages of a test run to the process that started it. */
export type TestMessage =
  | { readonly is: 'file'; readonly file: string }
  | { readonly is: 'begun'; readonly file: string; readonly title: string }
  | {
      readonly is: 'over';
      readonly file: string;
      readonly title: string;
      readonly state: 'passed' | 'failed';
      readonly ms: number;
      /** `npm test` leaves it out. */
      readonly isSlow: boolean;
      /** The probes that were passed in it, and in its file before it. */
      readonly reached: readonly number[];
    }
  /** Outside of tests. */
  | { readonly is: 'failed'; readonly file: string; readonly title: string }
  | { readonly is: 'ended' };

declare module 'vitest' {
  interface TaskMeta {
    reached?: number[];
  }
}

declare global {
  var passedProbes: Set<number> | undefined;
}
