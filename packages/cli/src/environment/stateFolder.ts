import { isAbsolute, join } from 'node:path';
import type { Variables } from './environment.js';

/**
 * Where what outlives a start is stored: in the folder of a service of systemd, or in that of the user's state;
 * `undefined` if no variable names one.
 *
 * @see https://specifications.freedesktop.org/basedir-spec/latest/
 */
export function stateFolder(variables: Variables): string | undefined {
  const { STATE_DIRECTORY: ofService = '', XDG_STATE_HOME: ofUser = '' } = variables;
  // systemd separates several with colons.
  if (isAbsolute(ofService)) return ofService.split(':', 1).join();
  const folder = isAbsolute(ofUser) ? ofUser : defaultFolder(variables);
  return isAbsolute(folder) ? join(folder, 'sluice') : undefined;
}

function defaultFolder({ LOCALAPPDATA: local = '', HOME: home = '' }: Variables): string {
  if (process.platform === 'win32') return local;
  return process.platform === 'darwin' ? join(home, 'Library', 'Application Support') : join(home, '.local', 'state');
}
