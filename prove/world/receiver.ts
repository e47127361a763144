import { createHmac } from 'node:crypto';
import { decodeRecords } from '../../packages/sandbox/src/receiver/decodeRecords.js';
import type { WebhookReplayOptions } from '@sluice/exporters/webhook';
import type { Process } from './processes.js';
import type { Answered, Service } from './service.js';
import { Random } from '../../test/kit/random.js';

interface ReceiverOptions {
  /** The share of records that it refuses for what they are, until it is mended. */
  readonly refused: number;
  /** Rows with the same value of this field have to come in order. */
  readonly orderedBy: string | undefined;
  /** Two machines may send one record, each in an envelope of its own. Default: it is always the same text. */
  readonly areMachines?: boolean;
}

export const receiverHost = 'hooks.world';
/** With which deliveries are signed. */
const key = Buffer.alloc(24, 7);

/** How a process reaches the receiver. */
export function endpointOf(
  { clock, random, adapter, fileSystem, claims }: Process,
  deliveries: number,
): WebhookReplayOptions {
  return {
    url: `https://${receiverHost}/`,
    secret: `whsec_${key.toString('base64')}`,
    deliveries,
    clock,
    random,
    adapter,
    resolve: () => Promise.resolve([{ address: '203.0.113.7', family: 4 }]),
    fileSystem,
    claims,
  };
}

/** A service that takes webhooks and remembers their ids. */
export class Receiver {
  /** What the records were about, in the order of their first arrival. */
  readonly data: unknown[] = [];
  /** What no receiver must see. */
  readonly wrong: string[] = [];
  /** Ids of the records that it refused. */
  readonly refused = new Set<string>();
  readonly #bodies = new Map<string, string>();
  readonly #met = new Set<string>();
  readonly #share: number;
  readonly #orderedBy: string | undefined;
  /** The highest sequence so far, by the field that orders rows. */
  readonly #latest = new Map<unknown, number>();
  readonly #areMachines: boolean;
  #isMended = false;

  constructor({ refused, orderedBy, areMachines = false }: ReceiverOptions) {
    this.#areMachines = areMachines;
    this.#share = refused;
    this.#orderedBy = orderedBy;
  }

  /** Takes everything from now on. */
  mend(): void {
    this.#isMended = true;
  }

  /** Whether a record about this, as a text, has arrived, and was taken or not. */
  hasMet(data: string): boolean {
    return this.#met.has(data);
  }

  readonly answer: Service = ({ headers, body }): Answered => {
    const { 'webhook-id': id = '', 'webhook-timestamp': time, 'webhook-signature': signature } = headers;
    const signed = createHmac('sha256', key).update(`${id}.${time}.${body}`).digest('base64');
    if (signature !== `v1,${signed}`) this.wrong.push(`The signature of ${id} is wrong.`);
    const records = decodeRecords(id, body);
    for (const { value } of records) this.#met.add(JSON.stringify(dataOf(value)));
    if (!this.#isMended && records.some((record) => new Random(record.id).chance(this.#share))) {
      for (const record of records) this.refused.add(record.id);
      return { status: 422, body: '{"message":"no"}' };
    }
    for (const record of records) {
      const before = this.#bodies.get(record.id);
      const text = this.#areMachines ? JSON.stringify(dataOf(record.value)) : record.body;
      if (before === undefined) this.#take(record.value);
      else if (before !== text) this.wrong.push(`The record ${record.id} came again with other bytes.`);
      this.#bodies.set(record.id, text);
    }
    return { status: 204, body: '' };
  };

  #take(envelope: unknown): void {
    const data = dataOf(envelope);
    this.data.push(data);
    // Dead letters come later.
    if (this.#orderedBy === undefined || this.#isMended) return;
    const { sequence } = envelope as { readonly sequence: number };
    const value = (data as Readonly<Record<string, unknown>>)[this.#orderedBy];
    const latest = this.#latest.get(value) ?? 0;
    if (sequence < latest)
      this.wrong.push(`Record ${sequence} came after ${latest}, and both are of ${String(value)}.`);
    this.#latest.set(value, Math.max(latest, sequence));
  }
}

function dataOf(envelope: unknown): unknown {
  return typeof envelope === 'object' && envelope !== null && 'data' in envelope ? envelope.data : undefined;
}
