import { dirname, join, resolve } from 'node:path';
import type { Budgets } from '@sluice/core/kit';
import { budgets } from '@sluice/core/node';
import type { Config } from '../config/config.js';
import type { Environment } from '../environment/environment.js';
import { stateFolder } from '../environment/stateFolder.js';
import { Failure } from '../errors/errors.js';
import { databaseStates, postgresUrl } from '../input/postgresUrl.js';

/** Ms. A budget is held for a moment, and requests wait for one that is held. */
const budgetLease = 10_000;

/** Where the limits of a command are kept: as the configuration says, or in the folder of the user's state. */
export function limitPlace(
  { limits = {}, file }: Pick<Config, 'limits' | 'file'>,
  environment: Environment,
): Budgets | false {
  const { variables, folder } = environment;
  if (limits === false) return false;
  const { place, name } = limits;
  if (typeof place === 'function') return budgets(place, { name });
  if (place !== undefined && postgresUrl.test(place)) {
    const open = databaseStates(place, environment, 'limits.place', budgetLease);
    return budgets((budget) => open(`limits/${budget}`), { name });
  }
  if (place !== undefined) return budgets(resolve(file ? dirname(file.path) : folder, place), { name });
  const state = stateFolder(variables);
  // Only a command that has such a limit needs the folder.
  return budgets(state === undefined ? noFolder : join(state, 'limits'), { name });
}

function noFolder(): never {
  throw new Failure(
    'neither HOME nor XDG_STATE_HOME names a folder. Set XDG_STATE_HOME, or limits.place in the configuration; with "limits": false there it does not try.',
  );
}
