// An API that returns a token for the next page, and omits empty fields: { "files": [ … ], "nextPageToken": "…" }
import { byCursor, defineApi, listing } from '@sluice/core/define';

export const files = defineApi({
  name: 'files',
  sources: {
    inFolder: listing({
      path: '/files',
      query: { parent: '{folder}' },
      pageSize: { param: 'pageSize', default: 100, max: 1000 },
      paging: byCursor({ param: 'pageToken', at: 'nextPageToken?' }),
      rows: 'files?',
      decode: (file, path, read) => {
        const { id, name, size } = read.record(file, path);
        if (typeof id !== 'string') throw read.fault(`${path}.id`, 'it is not text');
        return { id, name, size };
      },
      version: '1',
      columns: ['id', 'name', 'size'],
      key: 'id',
    }),
  },
});
