import type { Json } from '../source/definition.js';
import type { Answer, Where } from './answer.js';
import { documentPath } from './documentPath.js';

/** A {@link Where} that is ready to look: whichever of the two it was, it is asked the same way. */
export interface Finder {
  readonly isPath: boolean;
  /** Where it looks, as errors show it; empty where only a function knows. */
  readonly text: string;
  readonly identity: Json;
  find(answer: Answer): unknown;
}

/** Makes a path ready once for all answers. @throws ConfigError if it is none. */
export function finder(where: Where<unknown>): Finder {
  if (typeof where === 'function') return { isPath: false, text: '', identity: 'function', find: where };
  const path = documentPath(where);
  return {
    ...{ isPath: true, text: path.text, identity: where },
    find: ({ body, read }) => path.find(body, read),
  };
}
