import type { OutgoingHttpHeaders } from 'node:http';
import type { Fault } from './faults.js';
import type { Refusal } from './refusal.js';

/** A response to send. */
export interface Answer {
  readonly status: number;
  readonly headers: OutgoingHttpHeaders;
  readonly body: Buffer;
}

/** A response with a JSON body. */
export function jsonAnswer(status: number, value: unknown, headers: OutgoingHttpHeaders = {}): Answer {
  return {
    status,
    headers: { 'content-type': 'application/json; charset=utf-8', ...headers },
    body: Buffer.from(JSON.stringify(value)),
  };
}

/** The response to a request that can't be served. */
export function refusalAnswer({ status, message, headers }: Refusal): Answer {
  return jsonAnswer(status, { message }, headers);
}

/** The response of a fault, or the correct one if the fault does not replace it. */
export function faultyAnswer(fault: Fault | undefined, right: Answer, key: string): Answer {
  switch (fault?.kind) {
    case 'status': {
      const message = jsonAnswer(fault.status, { message: `A fault with status ${fault.status}` }, fault.headers);
      return fault.body === undefined ? message : { ...message, body: Buffer.from(fault.body) };
    }
    case 'html':
      return { status: fault.status ?? 200, headers: { 'content-type': 'text/html; charset=utf-8' }, body: html };
    case 'huge-body': {
      const encoding = fault.gzip ? { 'content-encoding': 'gzip' } : {};
      return { status: 200, headers: { 'content-type': 'application/json', ...encoding }, body: noBody };
    }
    case 'redirect':
      return jsonAnswer(fault.status ?? 302, { message: 'Moved' }, { location: fault.location });
    case 'echo-key': {
      const spellings = [key, encodeURIComponent(key), Buffer.from(key).toString('base64')];
      return jsonAnswer(fault.status ?? 403, { message: `The key is not allowed here: ${spellings.join(' ')}`, key });
    }
    case 'wrong-json':
      return { ...right, body: right.body.subarray(0, right.body.length / 2) };
    default:
      return right;
  }
}

export const noBody: Buffer = Buffer.alloc(0);

const html = Buffer.from(
  '<!doctype html>\n<html><head><title>Just a moment</title></head><body><h1>Be right back</h1></body></html>\n',
);
