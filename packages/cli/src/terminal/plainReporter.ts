import { every } from './every.js';
import { openingLine } from './openingLine.js';
import { plainLine } from './plainLine.js';
import type { Reporter, ReporterContext } from './reporter.js';
import { resumedLine } from './resumedLine.js';
import { summaryLine } from './summaryLine.js';

const lineEvery = 5000;

/** `--progress plain`: a line every five seconds, for logs. */
export function plainReporter({ output, clock, begun, read }: ReporterContext): Reporter {
  const opening = openingLine(begun);
  if (opening !== undefined) output.tell(`${opening}\n`);
  const stop = every(clock, lineEvery, () => {
    output.tell(`${plainLine(read())}\n`);
  });
  return {
    resumed: (resumed) => {
      output.tell(`${resumedLine(resumed, begun)}\n`);
    },
    warn: (message) => {
      output.tell(`sluice: ${message}\n`);
    },
    info: (message) => {
      output.tell(`${message}\n`);
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
