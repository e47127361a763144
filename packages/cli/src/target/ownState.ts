import { SluiceError } from '@sluice/core';
import type { TargetKind } from './target.js';

/** What has no state beside itself: its default name is made of the target's, of which there may be several with one. */
const ways: Readonly<Partial<Record<TargetKind, string>>> = {
  endpoint: 'If it is that of another forward: --state DIR gives this one a state, and dead letters, of its own.',
  sink: 'If it is that of another export or watch into the same target: --state DIR gives this one a state of its own.',
};

/**
 * What to do where the state, or the file of dead letters, is somebody else's. Starting over would lose what that one has to go on from.
 * `undefined` if the fault says nothing of that, or the target has its state beside itself.
 */
export function ownState(fault: unknown, kind: TargetKind): string | undefined {
  const isOthers = SluiceError.is(fault, 'lock') || (SluiceError.is(fault, 'checkpoint') && 'changed' in fault.details);
  return isOthers ? ways[kind] : undefined;
}
