import { expect } from 'vitest';
import { memoryState, type StateStore } from '../../../src/index.js';
import { type Recording, recordingSink } from '../sink/recordingSink.js';

const steps = ['save checkpoint', 'close', 'save mark', 'remove checkpoint'];

/** What a test does with the increments of its own table. */
interface EndOfIncrement<T> {
  readonly increment: (state: StateStore, sink: Recording<T>) => Promise<readonly T[]>;
  /** Looks at the rows of an increment that was killed and resumed. */
  readonly judge: (rows: readonly T[]) => void;
}

/** Kills increments before each step of their end: the mark may move only once the target is in place. */
export async function killBeforeEachStep<T>(open: () => Promise<EndOfIncrement<T>>): Promise<void> {
  for (const [nth, step] of steps.entries()) {
    const { increment, judge } = await open();
    const state = memoryState();
    const sink = recordingSink<T>();
    const done: string[] = [];
    const fails = (name: string): void => {
      done.push(name);
      if (name === step) throw new Error(`killed before: ${name}`);
    };
    const killing: StateStore = {
      ...state,
      save(name, record) {
        if (name.startsWith('mark-')) fails('save mark');
        else if ('isSealed' in record) fails('save checkpoint');
        return state.save(name, record);
      },
      remove(name) {
        fails('remove checkpoint');
        return state.remove(name);
      },
    };
    sink.beforeClose = () => fails('close');
    await expect(increment(killing, sink)).rejects.toThrow('killed before');
    expect(done).toEqual(steps.slice(0, nth + 1));
    sink.beforeClose = () => undefined;
    await increment(state, sink);
    judge(sink.rows);
    expect(await increment(state, recordingSink<T>()), `killed before: ${step}`).toEqual([]);
  }
}
