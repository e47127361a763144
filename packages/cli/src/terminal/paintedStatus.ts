import type { Colors } from './colors.js';

/** A stream's status in its colour. Those are known to be in use; any other text stays as it is. */
export function paintedStatus(status: string, colors: Colors): string {
  switch (status) {
    case 'active':
      return colors.green(status);
    case 'paused':
      return colors.yellow(status);
    case 'error':
    case 'terminated':
      return colors.red(status);
    default:
      return status;
  }
}
