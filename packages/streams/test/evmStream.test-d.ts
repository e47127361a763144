import { changes, createClient, poll, watch, type RowKey } from '@sluice/core';
import { streams, type EvmStream } from '../src/index.js';

declare const baseUrl: string;
const client = createClient({ apiKey: 'key' }).use(streams({ baseUrl }));

// An id is text or a number, and either is a key.
const key = (stream: EvmStream): RowKey => stream.id;
poll(client.streams.list(), { every: 1_000 }).pipe(changes({ key: (stream) => stream.id }));
poll(client.streams.list(), { every: 1_000 }).pipe(changes({ key: ({ id }) => id, project: ['status'] }));
watch(client.streams.list(), { every: 1_000, key: (stream) => stream.id });
client.streams.list.watch({}, { every: 1_000, key });

// @ts-expect-error -- a field that may be absent is none
watch(client.streams.list(), { every: 1_000, key: (stream) => stream.tag });
// @ts-expect-error -- nor is one of which nothing is known
watch(client.streams.list(), { every: 1_000, key: (stream) => stream['name'] });
