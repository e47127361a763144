import type { Sink } from '@sluice/core';
import type { Life } from './life.js';

/** A sink that records its progress in the process's `Life`. */
export function watchedSink<T>(sink: Sink<T>, life: Life): Sink<T> {
  return {
    ...sink,
    open: async (context) => {
      const { resumeAt } = context;
      life.stage = !resumeAt ? 'opening anew' : resumeAt.isSealed ? 'going on sealed' : 'going on';
      const writer = await sink.open(context);
      life.stage = 'moving';
      return {
        get isCommittable() {
          return writer.isCommittable ?? true;
        },
        write: async (page) => {
          await writer.write(page);
          life.pagesWritten += 1;
        },
        flush: async () => {
          life.stage = 'flushing';
          const place = await writer.flush();
          // The checkpoint follows, then another page.
          life.stage = 'moving';
          return place;
        },
        seal: (end) => {
          life.stage = 'sealing';
          return writer.seal(end);
        },
        close: async () => {
          life.stage = 'closing';
          const report = await writer.close();
          life.stage = 'closed';
          return report;
        },
        abort: (reason, options) => writer.abort(reason, options),
      };
    },
  };
}
