import { resumedLine, summaryLine } from './messages.js';
import { messageLines, type ProgressMode, type Reporter, type ReporterContext } from './reporter.js';

/** Loads only the reporter of this mode. `silent` prints nothing, not even the last line. */
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

/** `--progress none`: only what it resumes from, warnings, and the last line. */
function endReporter({ output, header }: Pick<ReporterContext, 'output' | 'header'>): Reporter {
  return {
    resumed: (resumed) => {
      output.print(`${resumedLine(resumed, header)}\n`);
    },
    ...messageLines(output),
    info: () => undefined,
    done: (summary) => {
      if (summary) output.print(`${summaryLine(summary)}\n`);
    },
    ended: () => false,
  };
}

/** `--quiet`. */
const silentReporter: Reporter = {
  resumed: () => undefined,
  warn: () => undefined,
  info: () => undefined,
  done: () => undefined,
  ended: () => false,
};
