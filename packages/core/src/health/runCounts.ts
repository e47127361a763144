import type { ClientEvent } from '../plugins/clientEvent.js';

/** What a run has done so far, as far as events tell. */
export type RunCounts = Readonly<ReturnType<typeof noCounts>>;

/** The counts of a run that has done nothing. */
export function noCounts() {
  return {
    /** Rows and pages that arrived in this run. */
    rows: 0,
    pages: 0,
    /** Partitions whose last page has arrived. */
    partitionsDone: 0,
    /** Those of earlier runs included. */
    committedRows: 0,
    committedPages: 0,
    /** Without the rows that a watch finds at its start. */
    changes: 0,
    /** Retries included. */
    requests: 0,
    retries: 0,
    /** Requests to a webhook, redeliveries included. */
    deliveries: 0,
    redeliveries: 0,
    accepted: 0,
    deadLetters: 0,
  };
}

/**
 * The counts after an event.
 *
 * @example
 * let counts: RunCounts = noCounts();
 * client.eventsOf('attempt', 'retry', 'page').subscribe((event) => (counts = countEvent(counts, event)));
 */
export function countEvent(before: RunCounts, event: ClientEvent): RunCounts {
  const counts = { ...before };
  if (event.type === 'attempt') counts.requests += 1;
  if (event.type === 'retry') counts.retries += 1;
  if (event.type === 'page') {
    counts.rows += event.rows;
    counts.pages += 1;
    if (event.endsPartition) counts.partitionsDone += 1;
  }
  if (event.type === 'commit') return { ...counts, committedRows: event.rows, committedPages: event.pages };
  if (event.type === 'change' && event.kind !== 'known' && event.kind !== 'initial') counts.changes += 1;
  if (event.type !== 'delivery') return counts;
  if (event.step === 'sent') counts.deliveries += 1;
  if (event.step === 'retry') counts.redeliveries += 1;
  if (event.step === 'accepted') counts.accepted += 1;
  if (event.step === 'dead-letter') counts.deadLetters += 1;
  return counts;
}
