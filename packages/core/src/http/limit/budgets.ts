import { checkOptions } from '../../checks.js';
import { ConfigError, SluiceError } from '../../errors.js';
import { type Identifiers, newId, sha256 } from '../../identifiers.js';
import { isRecord } from '../../values.js';
import type { ApiCredentials } from '../credentials.js';
import type { BootClock } from '../../timeline.js';
import type { BudgetStore, LockBudget } from './budget.js';

/** Where limits are kept that outlive the process. */
export interface Budgets {
  /** Opens the state of a budget, of which nothing else makes use, e.g. `(budget) => fileState(`limits/${budget}`)`. */
  readonly place: (budget: string) => BudgetStore | Promise<BudgetStore>;
  readonly boot: BootClock;
  /**
   * All clients with this name share one budget, for all their APIs. Default: one budget for each API and its
   * credentials.
   */
  readonly name?: string | undefined;
}

/** Whose requests a limit counts. */
export interface BudgetOwner {
  readonly baseUrl?: string;
  readonly credentials?: Pick<ApiCredentials, 'isSent' | 'fingerprint'>;
}

/** @throws ConfigError if it is neither `false` nor says where. */
export function checkBudgets(limits: Budgets | false | undefined): void {
  if (limits === undefined || limits === false) return;
  checkOptions('limits', limits, { place: 'a function', boot: 'an object', name: 'text?' });
  if (limits.name === '')
    throw new ConfigError('limits.name is empty. Leave it out, or name what shares the budget.', { option: 'name' });
}

const saltName = 'salt';

/**
 * Opens the budget of an API. Its name is a hash of who it is and a salt, which is stored beside it, so that no
 * credential can be found by it.
 *
 * @param lock locks a state, once other processes have released it
 */
export async function openBudget(
  { place, name }: Budgets,
  { baseUrl = '', credentials }: BudgetOwner,
  { lock, hash = sha256 }: { readonly lock: LockBudget; readonly hash?: Identifiers['sha256'] },
): Promise<BudgetStore> {
  const { salt, isDamaged } = await readSalt(await place(saltName), lock);
  const key = credentials?.isSent === true ? await credentials.fingerprint(salt) : '';
  const owner = name === undefined ? ['api', baseUrl, key] : ['name', name];
  const store = await place((await hash(JSON.stringify([salt, ...owner]))).slice(0, 32));
  return isDamaged ? withoutPast(store) : store;
}

interface Salt {
  readonly salt: string;
  /** It replaces one that could not be read. */
  readonly isDamaged: boolean;
}

/** The first process creates it. */
async function readSalt(store: BudgetStore, lock: LockBudget): Promise<Salt> {
  const release = await lock(store);
  try {
    const stored = await store.load(saltName).catch((error: unknown) => {
      if (SluiceError.is(error, 'checkpoint')) return null;
      throw error;
    });
    if (isRecord(stored) && typeof stored[saltName] === 'string')
      return { salt: stored[saltName], isDamaged: stored['isDamaged'] === true };
    const made = { salt: newId(), isDamaged: stored !== undefined };
    await store.save(saltName, made);
    return made;
  } finally {
    await release();
  }
}

/** With a new salt, what was used can't be found. So a budget that is not there is a damaged one. */
function withoutPast(store: BudgetStore): BudgetStore {
  return {
    lock: (signal) => store.lock(signal),
    save: (name, record) => store.save(name, record),
    load: async (name) => (await store.load(name)) ?? null,
  };
}
