/** The body of an answer, read in one way or the other. */
export interface AnswerBody {
  /** As it came. */
  readonly text: string;
  /** A JSON text that says what the body says, or that is none where the body is none. It need not be the same text: see `jsonText`. */
  readonly json: string;
}

/** A body of which only the text is known. */
export function textBody(text: string): AnswerBody {
  return { text, json: text };
}
