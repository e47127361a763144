import { barReporter } from './barReporter.js';
import { jsonReporter } from './jsonReporter.js';
import { resumedLine, summaryLine } from './messages.js';
import { plainReporter } from './plainReporter.js';
import type { ProgressMode, Reporter, ReporterContext } from './reporter.js';

/** The reporter of a mode; `silent` shows nothing, not even the last line. */
export function openReporter(mode: ProgressMode | 'silent', context: ReporterContext): Reporter {
  switch (mode) {
    case 'bar':
      return barReporter(context);
    case 'plain':
      return plainReporter(context);
    case 'json':
      return jsonReporter(context);
    case 'none':
      return endReporter(context);
    case 'silent':
      return silentReporter;
  }
}

/** `--progress none`: only what it went on from, what came out at the end, and warnings. */
function endReporter({ output, begun }: Pick<ReporterContext, 'output' | 'begun'>): Reporter {
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
const silentReporter: Reporter = {
  resumed: () => undefined,
  warn: () => undefined,
  info: () => undefined,
  done: () => undefined,
  ended: () => false,
};
