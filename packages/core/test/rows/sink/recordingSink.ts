import type { Json, Sink } from '../../../src/index.js';
import type { SinkContext, SinkPage } from '../../../src/kit.js';

/** A target in memory that survives its writers, as a file survives a process. */
export interface Recording<T> extends Sink<T> {
  /** Rows in the target, committed or not. */
  readonly rows: T[];
  /** What was called, in order. */
  readonly calls: string[];
  isClosed: boolean;
  aborted: { readonly reason: unknown; readonly isResumable: boolean } | undefined;
  /** Called before each write; may throw or wait. */
  beforeWrite: (page: SinkPage<T>) => void | Promise<void>;
  beforeClose: () => void;
  isCommittable: () => boolean;
}

/** A sink that can go back to a place, which is a number of rows. */
export function recordingSink<T>(identity: Json = 'recording'): Recording<T> {
  const recording: Recording<T> = {
    name: 'recording',
    identity,
    delivery: 'exactly-once',
    rows: [],
    calls: [],
    isClosed: false,
    aborted: undefined,
    beforeWrite: () => undefined,
    beforeClose: () => undefined,
    isCommittable: () => true,
    open(context: SinkContext<T>) {
      const { rows, calls } = recording;
      calls.push(context.resumeAt ? `open at ${JSON.stringify(context.resumeAt.sinkPosition)}` : 'open');
      const sinkPosition = context.resumeAt?.sinkPosition ?? 0;
      if (typeof sinkPosition !== 'number' || sinkPosition > rows.length)
        throw new Error('The place is not in this target.');
      rows.length = sinkPosition;
      recording.aborted = undefined;
      return Promise.resolve({
        get isCommittable() {
          return recording.isCommittable();
        },
        async write(page) {
          calls.push('write');
          await recording.beforeWrite(page);
          rows.push(...page.items);
        },
        flush: () => {
          calls.push('flush');
          return Promise.resolve(rows.length);
        },
        seal: () => {
          calls.push('seal');
          return Promise.resolve(rows.length);
        },
        close() {
          calls.push('close');
          recording.beforeClose();
          recording.isClosed = true;
          return Promise.resolve({ target: 'memory' });
        },
        abort(reason, { isResumable }) {
          calls.push('abort');
          recording.aborted = { reason, isResumable };
          return Promise.resolve();
        },
      });
    },
  };
  return recording;
}
