import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { afterwards } from '../deliver.js';
import { resetSocket } from '../resetSocket.js';
import type { AcceptedRecords } from './acceptedRecords.js';
import { decodeRecords } from './decodeRecords.js';
import type { DeliveryLog, OpenDelivery } from './deliveryLog.js';
import { FailureDraw } from './failureDraw.js';
import { replyOf, succeeds, type ReceiverAnswer, type Reply } from './receiverAnswer.js';
import type { Delivery, ReceiverSettings } from './receiverOptions.js';
import { sendReply } from './sendReply.js';
import { signatureCheck } from './signatureCheck.js';

/**
 * Handles deliveries in this order: drawn reset (before the body is read), method (405), signature (401), `webhook-id`
 * (400), other drawn failures, script. Records are counted when the response is decided.
 */
export function deliveryListener(
  settings: ReceiverSettings,
  log: DeliveryLog,
  accepted: AcceptedRecords,
): RequestListener {
  const { latency, now, onRequest, script } = settings;
  const failures = new FailureDraw(settings.seed, settings.failures);
  const check = settings.secrets && signatureCheck(settings.secrets, settings.tolerance, now);

  return (incoming, response) => {
    const { method = '', url = '', headers } = incoming;
    const header = headers['webhook-id'];
    const id = typeof header === 'string' ? header : '';
    const { attempt, failure } = failures.next(id);
    const entry = log.arrive({ id, attempt, method, path: url, headers });
    const exchange = { entry, response, isSevered: false };
    response.once('close', () => log.end(entry, !response.writableFinished && !exchange.isSevered));

    if (failure === 'reset') {
      answer(exchange, { body: '', records: [] }, () => failure);
      return;
    }
    readBody(incoming, (bytes) => {
      const body = bytes.toString();
      const records = decodeRecords(id, body);
      entry.records = records.length;
      const refusal = refuse(entry, bytes);
      answer(exchange, { body, records }, (delivery) => refusal ?? failure ?? script(delivery));
    });
  };

  function refuse(entry: OpenDelivery, body: Buffer): ReceiverAnswer | undefined {
    const refusal = refusalOf(entry, body);
    if (refusal === undefined) return undefined;
    const [status, message] = refusal;
    entry.refusal = message;
    log.refused++;
    return { status, headers: { 'content-type': 'application/json' }, body: JSON.stringify({ message }) };
  }

  function refusalOf({ method, id, headers }: OpenDelivery, body: Buffer): readonly [number, string] | undefined {
    if (method !== 'POST') return [405, `${method} is not allowed here`];
    const fault = check?.(headers, body);
    if (fault !== undefined) return [401, fault];
    return id === '' ? [400, 'webhook-id: missing'] : undefined;
  }

  /** Decides, counts, calls the hook, and only then sends. */
  function answer(
    exchange: Exchange,
    read: Pick<Delivery, 'body' | 'records'>,
    decide: (delivery: Delivery) => ReceiverAnswer | undefined,
  ): void {
    const { n, id, attempt, headers } = exchange.entry;
    const delivery: Delivery = { n, id, attempt, headers, ...read };
    const reply = replyTo(delivery, decide);
    count(exchange.entry, delivery, reply);
    const called = callHook(delivery);
    if (called instanceof Promise) {
      called.then(
        () => send(exchange, reply),
        (error: unknown) => {
          if (succeeds(reply)) log.failed++;
          send(exchange, mistake('hook', error));
        },
      );
    } else send(exchange, reply);
    log.notify();
  }

  function count(entry: OpenDelivery, { records }: Delivery, reply: Reply): void {
    // A refused request may come from another sender, so its records don't count.
    if (entry.refusal !== undefined) return;
    entry.accepted = reply.accepts;
    if (!succeeds(reply)) log.failed++;
    for (const record of records) accepted.add(record, reply.accepts, now());
  }

  function callHook(delivery: Delivery): unknown {
    try {
      return onRequest(delivery);
    } catch (error) {
      return Promise.reject(error);
    }
  }

  function send(exchange: Exchange, reply: Reply): void {
    const { entry, response } = exchange;
    // If the sender has disconnected, the timer would never be cleared.
    if (response.destroyed) return;
    afterwards(response, latency + reply.wait, () => {
      sendReply(response, reply, () => {
        exchange.isSevered = true;
        resetSocket(response.req.socket);
      });
      if (response.headersSent) entry.status = response.statusCode;
    });
  }
}

interface Exchange {
  readonly entry: OpenDelivery;
  readonly response: ServerResponse;
  /** The receiver reset the connection, not the sender. */
  isSevered: boolean;
}

function replyTo(delivery: Delivery, decide: (delivery: Delivery) => ReceiverAnswer | undefined): Reply {
  try {
    return replyOf(decide(delivery) ?? 'ok');
  } catch (error) {
    return mistake('script', error);
  }
}

/** The response if the script or the hook fails. */
function mistake(where: 'script' | 'hook', error: unknown): Reply {
  return replyOf({ status: 500, body: `The receiver's ${where} failed: ${String(error)}` });
}

/** Calls back with the complete body; never if the sender disconnects first. */
function readBody(incoming: IncomingMessage, callback: (body: Buffer) => void): void {
  const chunks: Buffer[] = [];
  incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
  incoming.once('end', () => callback(Buffer.concat(chunks)));
}
