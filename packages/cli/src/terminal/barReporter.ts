import { every } from './every.js';
import { openingLine } from './openingLine.js';
import { progressLine } from './progressLine.js';
import type { Reporter, ReporterContext } from './reporter.js';
import { resumedLine } from './resumedLine.js';
import { summaryLine } from './summaryLine.js';

const redrawEvery = 100;
/** To the line's beginning, and erase what stands there. */
const eraseLine = '\r\u001b[K';

/** `--progress bar`: one line of a terminal, drawn over itself, and gone at the end. */
export function barReporter({ output, clock, begun, read }: ReporterContext): Reporter {
  const draw = (): void => {
    // The last column stays free: a character there would make some terminals begin a new line.
    output.tell(eraseLine + progressLine(read(), { columns: output.columns - 1, colors: output.colors }));
  };
  const stop = every(clock, redrawEvery, draw);
  const tellAbove = (line: string): void => {
    output.tell(`${eraseLine}${line}\n`);
    draw();
  };
  const opening = openingLine(begun);
  if (opening === undefined) draw();
  else tellAbove(opening);
  return {
    resumed: (resumed) => {
      tellAbove(resumedLine(resumed, begun));
    },
    warn: (message) => {
      tellAbove(`sluice: ${message}`);
    },
    info: tellAbove,
    done: (summary) => {
      stop();
      output.tell(eraseLine + (summary ? `${summaryLine(summary)}\n` : ''));
    },
    ended: () => {
      stop();
      output.tell(eraseLine);
      return false;
    },
  };
}
