import { mkdir, rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { checkOptions, checkText } from '../checks.js';
import { SluiceError } from '../errors.js';
import type { BudgetStore } from '../http/limit/budget.js';
import type { BootClock } from '../timeline.js';
import type { Budgets } from '../http/limit/budgets.js';
import { machineBootClock } from './bootClock.js';
import { fileState, type FileState } from './fileState.js';

/** Options of {@link budgets}. */
export interface BudgetPlaceOptions {
  /** All clients with this name share one budget. Default: one for each API and its credentials. */
  readonly name?: string | undefined;
  /** Default: the machine's own. */
  readonly boot?: BootClock | undefined;
}

/**
 * Lets limits with windows of ten seconds or more outlive the process, as `limits` of `createClient`.
 *
 * @param place a folder, which is created, for the processes of this machine; or a function that opens the state of a
 * budget, for those of several machines. Their clocks should then differ by less than a second.
 *
 * @example
 * createClient({ apiKey, rateLimit: { requests: 40_000, per: 86_400_000 }, limits: budgets('limits') });
 *
 * @throws ConfigError if the folder's name is empty, or an option is unknown. If a budget can't be stored, the client warns,
 * and its limits end with the process.
 */
export function budgets(
  place: string | ((budget: string) => BudgetStore | Promise<BudgetStore>),
  options: BudgetPlaceOptions = {},
): Budgets {
  checkOptions('budgets()', options, { name: 'text?', boot: 'an object?' });
  const { name, boot = machineBootClock() } = options;
  if (typeof place === 'function') return { place, boot, name };
  checkText('The folder of budgets', place);
  const folder = resolve(place);
  return {
    boot,
    name,
    async place(budget) {
      await mkdir(folder, { recursive: true, mode: 0o700 });
      return replaceable(fileState(join(folder, budget)));
    },
  };
}

/** A state without records that can't be read: such a one can't be told from a file of somebody else, so it would stay. */
function replaceable(state: FileState): BudgetStore {
  return {
    lock: (signal) => state.lock(signal),
    save: (name, record) => state.save(name, record),
    load: (name) =>
      state.load(name).catch(async (error: unknown) => {
        if (SluiceError.is(error, 'checkpoint')) await rm(join(state.folder, name), { force: true });
        throw error;
      }),
  };
}
