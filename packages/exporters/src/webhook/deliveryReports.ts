import type { Delivery, HttpEvent, SinkContext } from '@sluice/core/kit';
import type { DeadLetter } from './letters/deadLetter.js';
import { blamesRecord } from './endpoint.js';

/**
 * Tells the observers of a client about the requests of a webhook, and about dead letters.
 *
 * @param countWaiting counts the records that are not settled.
 */
export function deliveryReports({ onDelivery }: Pick<SinkContext<never>, 'onDelivery'>, countWaiting: () => number) {
  const report = (delivery: Omit<Delivery, 'waiting'>): void => onDelivery?.({ ...delivery, waiting: countWaiting() });
  return {
    onEvent: (event: HttpEvent): void => {
      if (event.type === 'attempt') report({ step: 'sent' });
      if (event.type === 'retry') report({ step: 'retry', error: event.error, status: statusOf(event.error) });
      if (event.type !== 'settled' || event.outcome !== 'failed') return;
      const { error } = event;
      const status = statusOf(error);
      report({ step: error.code === 'http' && blamesRecord(status) ? 'refused' : 'failed', error, status });
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
