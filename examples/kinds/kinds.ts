// Every kind of API that a definition can describe, each with an example.
import { bodies } from './bodies.js';
import { credentials } from './credentials.js';
import { ends } from './ends.js';
import { increments } from './increments.js';
import type { Kind } from './kind.js';
import { pages } from './pages.js';
import { parents } from './parents.js';
import { requests } from './requests.js';
import { meanings } from './responses.js';

export const kinds: readonly Kind[] = [
  pages,
  ends,
  requests,
  bodies,
  meanings,
  parents,
  increments,
  credentials,
].flat();
