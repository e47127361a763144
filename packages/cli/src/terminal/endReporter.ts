import type { Reporter, ReporterContext } from './reporter.js';
import { resumedLine } from './resumedLine.js';
import { summaryLine } from './summaryLine.js';

/** `--progress none`: only what it went on from, what came out at the end, and warnings. */
export function endReporter({ output, begun }: Pick<ReporterContext, 'output' | 'begun'>): Reporter {
  return {
    resumed: (resumed) => {
      output.tell(`${resumedLine(resumed, begun)}\n`);
    },
    warn: (message) => {
      output.tell(`sluice: ${message}\n`);
    },
    info: () => undefined,
    done: (summary) => {
      if (summary) output.tell(`${summaryLine(summary)}\n`);
    },
    ended: () => false,
  };
}

/** `--quiet`: nothing at all. */
export const silentReporter: Reporter = {
  resumed: () => undefined,
  warn: () => undefined,
  info: () => undefined,
  done: () => undefined,
  ended: () => false,
};
