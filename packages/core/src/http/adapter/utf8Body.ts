import type { AnswerBody } from './answerBody.js';
import { jsonText } from './jsonText.js';
import { utf8Text } from './utf8Text.js';

/** A body of valid UTF-8. Mostly it is read as JSON, and its text is never made. */
export class Utf8Body implements AnswerBody {
  readonly #bytes: Buffer;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  get text(): string {
    return utf8Text(this.#bytes);
  }

  get json(): string {
    return jsonText(this.#bytes);
  }
}
