import { createClient } from '@sluice/core';
import { streams } from '@sluice/streams';
import type { Place } from './page.js';

globalThis.onmessage = async ({ data: { apiKey, streamsUrl } }: MessageEvent<Place>) => {
  await using client = createClient({ apiKey }).use(streams({ baseUrl: streamsUrl }));
  postMessage((await client.streams.list().toArray()).length);
};
