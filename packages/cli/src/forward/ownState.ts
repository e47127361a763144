import { SluiceError } from '@sluice/core';

/**
 * What to do where the state, or the file of dead letters, is another forward's: its default name holds only the host. Starting over would
 * lose what that one has to go on from. `undefined` if the fault says nothing of that.
 */
export function ownState(fault: unknown): string | undefined {
  const isOthers = SluiceError.is(fault, 'lock') || (SluiceError.is(fault, 'checkpoint') && 'changed' in fault.details);
  return isOthers
    ? 'If it is that of another forward: --state DIR gives this one a state, and dead letters, of its own.'
    : undefined;
}
