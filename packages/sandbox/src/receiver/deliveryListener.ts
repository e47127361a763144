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
 * Answers deliveries, in this order: a reset that was drawn (before the body is read), method (405), signature (401) and
 * `webhook-id` (400), the other failures that are drawn, the script. Records count as soon as the answer is decided.
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
    response.once('close', () => {
      log.end(entry, !response.writableFinished && !exchange.isSevered);
    });

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

  /** Decides, counts, tells the hook, and only then sends. */
  function answer(
    exchange: Exchange,
    read: Pick<Delivery, 'body' | 'records'>,
    decide: (delivery: Delivery) => ReceiverAnswer | undefined,
  ): void {
    const { n, id, attempt, headers } = exchange.entry;
    const delivery: Delivery = { n, id, attempt, headers, ...read };
    const reply = replyTo(delivery, decide);
    count(exchange.entry, delivery, reply);
    const told = tell(delivery);
    if (told instanceof Promise) {
      told.then(
        () => send(exchange, reply),
        (error: unknown) => {
          if (succeeds(reply)) log.failed++;
          send(exchange, mistake('hook', error));
        },
      );
    } else send(exchange, reply);
    log.tell();
  }

  function count(entry: OpenDelivery, { records }: Delivery, reply: Reply): void {
    // What is refused may be anybody's: it says nothing about the sender's bodies.
    if (entry.refusal !== undefined) return;
    entry.accepted = reply.accepts;
    if (!succeeds(reply)) log.failed++;
    for (const record of records) accepted.note(record, reply.accepts, now());
  }

  function tell(delivery: Delivery): unknown {
    try {
      return onRequest(delivery);
    } catch (error) {
      return Promise.reject(error);
    }
  }

  function send(exchange: Exchange, reply: Reply): void {
    const { entry, response } = exchange;
    // A timer for a sender who has gone would never be cleared.
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
  /** We cut it, not the sender. */
  isSevered: boolean;
}

function replyTo(delivery: Delivery, decide: (delivery: Delivery) => ReceiverAnswer | undefined): Reply {
  try {
    return replyOf(decide(delivery) ?? 'ok');
  } catch (error) {
    return mistake('script', error);
  }
}

/** The answer where a function of the receiver's owner fails. */
function mistake(where: 'script' | 'hook', error: unknown): Reply {
  return replyOf({ status: 500, body: `The receiver's ${where} failed: ${String(error)}` });
}

/** Calls back with the whole body, or never, if the sender goes away first. */
function readBody(incoming: IncomingMessage, callback: (body: Buffer) => void): void {
  const parts: Buffer[] = [];
  incoming.on('data', (part: Buffer) => parts.push(part));
  incoming.once('end', () => {
    callback(Buffer.concat(parts));
  });
}
