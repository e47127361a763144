import { resumedLine, summaryLine } from './messages.js';
import type { ProgressMode, Reporter, ReporterContext } from './reporter.js';

/** The reporter of a mode, which alone is loaded; `silent` shows nothing, not even the last line. */
export async function openReporter(mode: ProgressMode | 'silent', context: ReporterContext): Promise<Reporter> {
  switch (mode) {
    case 'bar':
      return (await import('./barReporter.js')).barReporter(context);
    case 'plain':
      return (await import('./plainReporter.js')).plainReporter(context);
    case 'json':
      return (await import('./jsonReporter.js')).jsonReporter(context);
    case 'none':
      return endReporter(context);
    case 'silent':
      return silentReporter;
  }
}

/** `--progress none`: only what it went on from, what came out at the end, and warnings. */
function endReporter({ output, header }: Pick<ReporterContext, 'output' | 'header'>): Reporter {
  return {
    resumed: (resumed) => {
      output.tell(`${resumedLine(resumed, header)}\n`);
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
