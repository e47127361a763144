import type { AnswerShape } from './served/answerShape.js';
import type { Cursors } from './cursor.js';
import { openPage, formatPage } from './page.js';
import { readCursor, readWholeNumber } from './parameters.js';
import type { Endpoint } from './requestListener.js';
import type { StreamBook } from './served/streamBook.js';

/** `GET …/streams/evm?limit&cursor`: the streams of the project, up to 100 per page. */
export function streamsEndpoint(streams: StreamBook, cursors: Cursors, shape: Required<AnswerShape>): Endpoint {
  return (query) => {
    const limit = readWholeNumber(query, 'limit', { min: 1, max: 100 });
    const page = openPage({
      cursors,
      query: 'streams',
      sent: readCursor(query),
      start: () => 0,
      read: (place) => streams.read(place, limit),
    });
    return (fault) => ({ ...formatPage(page(fault), shape), total: streams.size });
  };
}
