// Forwards each change of the project's streams to your service, signed. See docs/guides/forwardChanges.md.
// After `npm start`: cd examples && npx tsx forwardChanges.ts
import { createServer, type IncomingMessage } from 'node:http';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { createClient, exportTo, type Change } from '@sluice/core';
import { fileState } from '@sluice/core/node';
import { webhook } from '@sluice/exporters/webhook';
import { startSandbox } from '@sluice/sandbox';
import { streams, type EvmStream } from '@sluice/streams';
import { Webhook } from 'standardwebhooks';
import { temporaryFolder } from './temporaryFolder.js';

const secret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
const verifier = new Webhook(secret);
const seen = new Set<string>();

/** What our service does with a change. */
function take({ type, key, before, after }: Change<EvmStream>): void {
  if (type === 'changed') console.log(`${after.tag ?? key}: ${before.status ?? '?'} -> ${after.status ?? '?'}`);
}

const service = createServer((request, response) => {
  receive(request).then(
    (status) => response.writeHead(status).end(),
    () => response.writeHead(500).end(),
  );
});

async function receive(request: IncomingMessage): Promise<number> {
  const body = await text(request);
  const headers = Object.entries(request.headers).map(([name, value]): [string, string] => [name, String(value)]);
  let envelope: unknown;
  try {
    envelope = verifier.verify(body, Object.fromEntries(headers));
  } catch {
    return 401;
  }
  if (!isEnvelope(envelope)) return 400;
  if (!seen.has(envelope.id)) take(envelope.data);
  seen.add(envelope.id); // a real service stores it in its database, in the transaction that does the work
  return 204;
}

interface Envelope {
  readonly id: string;
  readonly data: Change<EvmStream>;
}

/** Signed bodies have this shape. */
function isEnvelope(value: unknown): value is Envelope {
  return typeof value === 'object' && value !== null && 'id' in value && 'data' in value;
}

// Simulates the API, so that this runs without a key.
await using sandbox = await startSandbox({ statusEvery: 50 });
const { apiKey, streamsUrl } = sandbox;
await new Promise<void>((resolve) => service.listen(0, '127.0.0.1', resolve));
const address = service.address();
const url = `http://127.0.0.1:${typeof address === 'object' ? (address?.port ?? '') : ''}/changes`;
const folder = temporaryFolder();
const every = 300; // ms: 30 seconds are plenty for a real project

await using client = createClient({ apiKey }).use(streams({ baseUrl: streamsUrl }));

const state = fileState(join(folder, 'state'));
const changes = client.streams.list.watch({}, { every, state, polls: 4 });
const sink = webhook<Change<EvmStream>>({
  url,
  secret,
  allowAddresses: ['127.0.0.1'], // not needed for public https addresses
  deadLetter: join(folder, 'dead.jsonl'),
});

const { rows } = await exportTo(changes, sink, { state }).run();
console.log(`${rows} changes, ${seen.size} of them new to the service.`);
service.close();
