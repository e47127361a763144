import { parse, printParseErrorCode, type ParseError } from 'jsonc-parser';
import { UsageError } from '../faults/usageError.js';
import { thrownText } from '../faults/thrownText.js';

/** What a JSON text says. @throws UsageError with the place where it is none; `name` is what the text is called. */
export function parseJson(text: string, name: string): unknown {
  const plain = text.replace(/^\ufeff/, '');
  try {
    return JSON.parse(plain);
  } catch (error) {
    throw new UsageError(`${name} is not valid JSON: ${placedFault(plain) ?? thrownText(error)}`);
  }
}

/** What Node says of a fault has no line in it. */
function placedFault(text: string): string | undefined {
  const faults: ParseError[] = [];
  parse(text, faults, { disallowComments: true });
  const [first] = faults;
  if (!first) return undefined;
  const before = text.slice(0, first.offset).split('\n');
  const column = (before.at(-1) ?? '').length + 1;
  return `${inWords(printParseErrorCode(first.error))} at line ${String(before.length)}, column ${String(column)}.`;
}

/** @example inWords('CommaExpected') // 'comma expected' */
function inWords(code: string): string {
  return code.replace(/(?<=.)[A-Z]/g, (letter) => ` ${letter}`).toLowerCase();
}
