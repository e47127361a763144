import type { Permit } from './limiterTypes.js';

/** What a limiter does in the life of a {@link newPermit}. */
export interface PermitLife {
  /** Whether a request may be written now. */
  readonly mayStart: () => boolean;
  /** Called once: the request is written, or it never will be. */
  readonly onStart: (isWritten: boolean) => void;
  /** Called for a response, after `onStart`. */
  readonly onResponse?: (() => void) | undefined;
  /** Called once, after `onStart`. */
  readonly onRelease: () => void;
}

/** A permit whose start counts once, when its request is written, or else at its release; and which is released once. */
export function newPermit({
  mayStart,
  onStart,
  onResponse,
  onRelease,
}: PermitLife): Permit & Required<Pick<Permit, 'started'>> {
  let isPending = true;
  let isReleased = false;
  const start = (isWritten: boolean): void => {
    if (!isPending) return;
    isPending = false;
    onStart(isWritten);
  };
  return {
    started() {
      const isAllowed = mayStart();
      if (isAllowed) start(true);
      return isAllowed;
    },
    observe() {
      onResponse?.();
      return {};
    },
    release(use) {
      if (isReleased) return;
      isReleased = true;
      start(use !== 'unwritten');
      onRelease();
    },
  };
}
