import type { AnswerShape } from './answerShape.js';
import type { Cursors } from './cursor.js';
import { pageOf, worded } from './page.js';
import { cursorOf, wholeNumber } from './parameters.js';
import type { Endpoint } from './requestListener.js';
import type { StreamBook } from './streamBook.js';

/** `GET …/streams/evm?limit&cursor`: the streams of the project, up to 100 per page. */
export function streamsEndpoint(streams: StreamBook, cursors: Cursors, shape: Required<AnswerShape>): Endpoint {
  return (query) => {
    const limit = wholeNumber(query, 'limit', { min: 1, max: 100 });
    const page = pageOf({
      cursors,
      query: 'streams',
      sent: cursorOf(query),
      start: () => 0,
      read: (place) => streams.read(place, limit),
    });
    return (fault) => ({ ...worded(page(fault), shape), total: streams.size });
  };
}
