// One of several processes with one key: it sends requests at the rate that a limiter in Redis permits, to the server that its
// first message names, and exits.
import { once } from 'node:events';
import { createClient } from '@sluice/core';
import { redisLimiter } from '@sluice/cluster';
import { type ClientTask, openApi, requestsOf } from './rate.js';

const [said] = await once(process, 'message');
const task: ClientTask = said;
const limits = { requests: task.perSecond, per: 1_000 };
const limiter = redisLimiter({ url: task.redisUrl, name: `prove:rate:${task.perSecond}`, limits });
const client = createClient({ apiKey: 'no-key-is-asked-for', limiter, retry: { retries: 0 } });
await requestsOf(openApi(client, task.url), task.requests, task.concurrency);
await client.close();
process.disconnect();
