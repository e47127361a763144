/** An expression of the definition, and the names that it needs of the library. */
export interface Code {
  readonly text: string;
  readonly uses: readonly string[];
}

/** A call of a function of the library. */
export function code(name: string, options: string): Code {
  return { text: `${name}(${options})`, uses: [name] };
}

/** What was found out, and why it is not certain. */
export interface Guess<Value> {
  readonly value: Value;
  /** Becomes a comment. Absent for what is certain. */
  readonly why?: string | undefined;
}

/** A definition of an API, as far as it could be found out. */
export interface ApiDraft {
  readonly baseUrl: Guess<string>;
  /** Absent if it is unknown. */
  readonly auth?: Guess<Code> | undefined;
  /** Headers that every request has. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly listings: readonly ListingDraft[];
}

/** A listing, as far as it could be found out. What is absent is unknown. */
export interface ListingDraft {
  readonly name: string;
  readonly description?: string | undefined;
  /** With its parameters as `{name}`. */
  readonly path: string;
  /** Parameters of the query that its caller has to give. */
  readonly needed: readonly string[];
  /** A parameter that is repeated has several values. */
  readonly query: Readonly<Record<string, readonly string[]>>;
  readonly pageSize?: Guess<PageSizeDraft> | undefined;
  readonly paging: Guess<Code>;
  /** The path of the list of rows. */
  readonly rows: Guess<string>;
  readonly total?: Guess<string> | undefined;
  readonly columns: readonly string[];
  /** The types of columns, without those that are `text`. */
  readonly types: Readonly<Record<string, string>>;
  readonly key?: Guess<string> | undefined;
}

export interface PageSizeDraft {
  readonly param: string;
  readonly default: number;
  readonly max?: number | undefined;
}
