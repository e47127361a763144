import type { Delivery, HttpEvent, SinkContext } from '@sluice/core/kit';
import type { DeadLetter } from './letters/deadLetter.js';
import { blamesRecord } from './endpoint.js';

/**
 * Tells the observers of a client about the requests of a webhook, and about dead letters.
 *
 * @param countWaiting counts the records that are not settled.
 * @param isLimited whether the webhook has a rate limit.
 */
export function deliveryReports(
  { onDelivery }: Pick<SinkContext<never>, 'onDelivery'>,
  countWaiting: () => number,
  isLimited: boolean,
) {
  const report = (delivery: Omit<Delivery, 'waiting'>): void => onDelivery?.({ ...delivery, waiting: countWaiting() });
  /** Requests that wait for their permit, or to be repeated; and those that are under way. */
  const queued = new Set<number>();
  const sent = new Set<number>();
  let isQueued = false;
  const reportQueue = ({ type, request }: HttpEvent): void => {
    queued.delete(request);
    sent.delete(request);
    if (type === 'request' || type === 'retry') queued.add(request);
    else if (type !== 'settled') sent.add(request);
    const wasQueued = isQueued;
    isQueued = sent.size === 0 && queued.size > 0;
    if (isQueued && !wasQueued) report({ step: 'queued' });
  };
  const reportRequest = (event: HttpEvent): void => {
    if (event.type === 'attempt') report({ step: 'sent' });
    if (event.type === 'retry') report({ step: 'retry', error: event.error, status: statusOf(event.error) });
    if (event.type !== 'settled' || event.outcome !== 'failed') return;
    const { error } = event;
    const status = statusOf(error);
    report({ step: error.code === 'http' && blamesRecord(status) ? 'refused' : 'failed', error, status });
  };
  return {
    onEvent: (event: HttpEvent): void => {
      reportRequest(event);
      if (isLimited) reportQueue(event);
    },
    // When its records are settled, so that they wait no longer.
    onAccepted: (accepted: { readonly status: number | undefined; readonly records: number }) =>
      report({ step: 'accepted', ...accepted }),
    onDeadLetter: ({ status }: DeadLetter) => report({ step: 'dead-letter', status: status ?? undefined }),
  };
}

function statusOf({ details }: { readonly details?: Readonly<Record<string, unknown>> }): number | undefined {
  const status = details?.['status'];
  return typeof status === 'number' ? status : undefined;
}
