import { every } from './every.js';
import { plainLine } from './plainLine.js';
import type { Reporter, ReporterContext } from './reporter.js';
import { resumedLine } from './resumedLine.js';
import { summaryLine } from './summaryLine.js';

const lineEvery = 5000;

/** `--progress plain`: a line every five seconds, for logs. */
export function plainReporter({ output, clock, read }: ReporterContext): Reporter {
  const stop = every(clock, lineEvery, () => {
    output.tell(`${plainLine(read())}\n`);
  });
  return {
    resumed: (resumed) => {
      output.tell(`${resumedLine(resumed)}\n`);
    },
    warn: (message) => {
      output.tell(`sluice: ${message}\n`);
    },
    done: (summary) => {
      stop();
      if (summary) output.tell(`${summaryLine(summary)}\n`);
    },
    ended: () => {
      stop();
      return false;
    },
  };
}
