import { every } from './every.js';
import { countsOf, progressEvent, type ProgressEvent } from './progressEvent.js';
import type { Reporter, ReporterContext } from './reporter.js';

const eventEvery = 1000;

/** `--progress json`: one event a line, for programs. Faults are events too, so that every line can be parsed. */
export function jsonReporter({ output, clock, begun, read }: ReporterContext): Reporter {
  const emit = (event: ProgressEvent): void => {
    output.tell(`${JSON.stringify(event)}\n`);
  };
  emit({ event: 'start', ...begun });
  const stop = every(clock, eventEvery, () => {
    emit(progressEvent(read()));
  });
  return {
    resumed: (resumed) => {
      emit({ event: 'resumed', ...resumed });
    },
    warn: (message) => {
      emit({ event: 'warning', message });
    },
    info: (message) => {
      emit({ event: 'info', message });
    },
    done: (summary) => {
      stop();
      const { bytes, deadLetters, finishedAt } = summary ?? {};
      emit({
        ...{ event: 'report', target: begun.target },
        ...(bytes !== undefined && { bytes }),
        ...(deadLetters && { deadLetters }),
        ...(finishedAt !== undefined && { finishedAt }),
        ...countsOf(read()),
      });
    },
    ended: ({ kind, ...ending }) => {
      stop();
      emit({ event: kind, ...ending, ...countsOf(read()) });
      return true;
    },
  };
}
