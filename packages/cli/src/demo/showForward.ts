import { randomBytes } from 'node:crypto';
import { exportTo } from '@sluice/core';
import { webhook } from '@sluice/exporters/webhook';
import { startReceiver, type ReceiverCounts } from '@sluice/sandbox';
import type { EvmStream, StreamsApi } from '@sluice/streams';
import type { Environment } from '../environment.js';
import { formatCount } from '../terminal/formatNumber.js';
import { heading, indent } from './heading.js';

/** Forwards the streams to a service on this machine that verifies signatures, and fails now and then. */
export async function showForward(
  api: StreamsApi,
  { stdout, signal }: Pick<Environment, 'stdout' | 'signal'>,
): Promise<void> {
  await heading(stdout, 'The streams once more, forwarded to a service');
  const secret = `whsec_${randomBytes(24).toString('base64')}`;
  const failures = { share: 0.25, most: 2, kinds: ['error', 'reset', 'accept-then-error'] as const };
  await using receiver = await startReceiver({ secrets: [secret], seed: 17, failures });
  const { url } = receiver;
  // The back-off is short, since this service is not in trouble.
  const sink = webhook<EvmStream>({ url, secret, allowAddresses: ['127.0.0.1'], retry: { baseDelay: 20 } });
  const { rows } = await exportTo(api.list(), sink).run({ signal });
  const lines = forwardLines(rows, url, receiver.counts);
  await stdout.write(lines.map((line) => `${' '.repeat(indent)}${line}\n`).join(''));
}

/** What came of it: counted by the service, not supposed. */
function forwardLines(
  rows: number,
  url: string,
  { accepted, doubled, differing, refused, failed }: ReceiverCounts,
): string[] {
  const isWhole = accepted === rows && differing === 0 && refused === 0;
  return [
    `${formatCount(rows, 'record')} posted to ${url}: each signature was verified.`,
    `The service failed ${formatCount(failed, 'time')} on purpose; those records were sent again.`,
    isWhole
      ? `${formatCount(doubled, 'record')} came twice, with the same id. None is missing, none has changed.`
      : `${formatCount(accepted, 'record')} arrived. That is a fault: please report it.`,
  ];
}
