import type { ExportFlow, ExportProgress, ExportReport } from '@sluice/core';

/**
 * Runs an export to its end and tells its progress. Settles when everything behind it is closed.
 *
 * @throws what the export raises, or the signal's reason when it was stopped.
 */
export async function runExport(
  flow: ExportFlow,
  signal: AbortSignal,
  onProgress: (progress: ExportProgress) => void,
): Promise<ExportReport> {
  signal.throwIfAborted();
  const steps = flow[Symbol.asyncIterator]();
  const stop = (): void => {
    // What closing raises is awaited below.
    steps.return().catch(() => undefined);
  };
  signal.addEventListener('abort', stop, { once: true });
  try {
    for await (const step of steps) {
      onProgress(step);
      if (isReport(step)) return step;
    }
  } finally {
    signal.removeEventListener('abort', stop);
    await steps.return();
  }
  signal.throwIfAborted();
  throw new Error('An export ended without a report.');
}

function isReport(progress: ExportProgress): progress is ExportReport {
  return progress.isDone;
}
