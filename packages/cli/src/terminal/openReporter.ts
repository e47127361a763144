import type { ProgressMode } from '../options/progressMode.js';
import { barReporter } from './barReporter.js';
import { endReporter, silentReporter } from './endReporter.js';
import { jsonReporter } from './jsonReporter.js';
import { plainReporter } from './plainReporter.js';
import type { Reporter, ReporterContext } from './reporter.js';

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
