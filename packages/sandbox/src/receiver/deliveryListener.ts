import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { jsonAnswer } from '../answer.js';
import { openExchange } from '../exchange.js';
import { FaultDraw } from '../faultDraw.js';
import { draws, fraction, pick } from '../served/random.js';
import { ServerLog, type LoggedExchange, type Open } from '../serverLog.js';
import type { AcceptedRecords } from './acceptedRecords.js';
import { decodeRecords } from './decodeRecords.js';
import { planReply, succeeds, type ReceiverFailure, type Reply } from './receiverAnswer.js';
import type { Delivery, ReceiverSettings } from './receiverOptions.js';
import { signatureCheck } from './signatureCheck.js';

/** A request to the receiver. */
export interface ReceivedRequest extends LoggedExchange, Pick<Delivery, 'id' | 'attempt' | 'headers'> {
  readonly method: string;
  readonly path: string;
  /** Number of its records; 0 if its body was not read. */
  readonly records: number;
  /** Whether its records count as accepted, even if the response was an error. */
  readonly accepted: boolean;
  /** Why it was refused: signature, `webhook-id` or method; otherwise `undefined`. */
  readonly refusal: string | undefined;
}

type OpenDelivery = Open<ReceivedRequest>;

export class DeliveryLog extends ServerLog<Omit<OpenDelivery, keyof LoggedExchange>> {
  refused = 0;
  failed = 0;
}

/**
 * Handles deliveries in this order: drawn reset (before the body is read), method (405), signature (401), `webhook-id`
 * (400), other drawn failures, script. Records are counted when the response is decided, and the hook is called before
 * the response is sent.
 */
export function deliveryListener(
  settings: ReceiverSettings,
  log: DeliveryLog,
  accepted: AcceptedRecords,
): RequestListener {
  const { latency, now, onRequest, script } = settings;
  const { share, max, kinds } = settings.failures;
  const failures = new FaultDraw<ReceiverFailure>(draws(settings.seed, 'delivery'), {
    pick: (word) => (fraction(word) < share ? pick(kinds, word) : undefined),
    maxInARow: max,
    remembered: Infinity,
  });
  const check = settings.secrets && signatureCheck(settings.secrets, settings.tolerance, now);

  return (incoming, response) => void receive(incoming, response);

  async function receive(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = '', url = '', headers } = incoming;
    const header = headers['webhook-id'];
    const id = typeof header === 'string' ? header : '';
    const attempt = failures.attempt(id);
    const failure = failures.next(id);
    const entry = log.arrive({
      id,
      attempt,
      method,
      path: url,
      headers,
      records: 0,
      accepted: false,
      refusal: undefined,
    });
    const send = openExchange(response, log, entry);

    const bytes = failure === 'reset' ? undefined : await readBody(incoming);
    const body = bytes?.toString() ?? '';
    const records = bytes ? decodeRecords(id, body) : [];
    entry.records = records.length;
    const delivery: Delivery = { n: entry.n, id, attempt, headers, body, records };
    let reply = (bytes && refuse(entry, bytes)) ?? decide(delivery, failure);
    count(entry, delivery, reply);
    const called = (async () => onRequest(delivery))();
    log.notify();
    try {
      await called;
    } catch (error) {
      if (succeeds(reply)) log.failed++;
      reply = reportMistake('hook', error);
    }
    send(reply.answer, { fault: reply.fault, wait: latency + (reply.wait ?? 0) });
  }

  function refuse(entry: OpenDelivery, body: Buffer): Reply | undefined {
    const refusal = findRefusal(entry, body);
    if (refusal === undefined) return undefined;
    const [status, message] = refusal;
    entry.refusal = message;
    log.refused++;
    return { accepts: false, answer: jsonAnswer(status, { message }) };
  }

  function findRefusal({ method, id, headers }: OpenDelivery, body: Buffer): readonly [number, string] | undefined {
    if (method !== 'POST') return [405, `${method} is not allowed here`];
    const fault = check?.(headers, body);
    if (fault !== undefined) return [401, fault];
    return id === '' ? [400, 'webhook-id: missing'] : undefined;
  }

  function decide(delivery: Delivery, failure: ReceiverFailure | undefined): Reply {
    try {
      return planReply(failure ?? script(delivery) ?? 'ok');
    } catch (error) {
      return reportMistake('script', error);
    }
  }

  function count(entry: OpenDelivery, { records }: Delivery, reply: Reply): void {
    // A refused request may come from another sender, so its records don't count.
    if (entry.refusal !== undefined) return;
    entry.accepted = reply.accepts;
    if (!succeeds(reply)) log.failed++;
    for (const record of records) accepted.add(record, reply.accepts);
  }
}

/** The response if the script or the hook fails. */
function reportMistake(where: 'script' | 'hook', error: unknown): Reply {
  return planReply({ status: 500, body: `The receiver's ${where} failed: ${String(error)}` });
}

/** Resolves with the complete body; never if the sender disconnects first. */
function readBody(incoming: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
  return new Promise((resolve) => incoming.once('end', () => resolve(Buffer.concat(chunks))));
}
