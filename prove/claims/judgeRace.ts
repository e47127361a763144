/** What the log of a race says. */
export interface RaceJudgement {
  /** How often somebody got the lock. */
  readonly entered: number;
  /** Whoever was killed before, while and after it held the lock. */
  readonly killed: { readonly acquiring: number; readonly holding: number; readonly releasing: number };
  /** Holders that were stopped for a while. */
  readonly stopped: number;
  /** Who entered while another one was inside, one sentence each. */
  readonly faults: readonly string[];
}

/**
 * Judges a race by a log to which all append, so that its lines are in the order in which they happened. `enter NAME` is
 * written inside the lock, and so is `leave NAME`. `kill NAME` comes before the signal: from there on NAME may have ended.
 *
 * @example judgeRace('enter a\nkill a\nenter b\nleave b\n').faults // []
 * @example judgeRace('enter a\nenter b\nkill a\n').faults // ['b entered while a was inside.']
 */
export function judgeRace(log: string): RaceJudgement {
  const states = new Map<string, 'inside' | 'outside'>();
  const dying = new Set<string>();
  const killed = { acquiring: 0, holding: 0, releasing: 0 };
  const faults: string[] = [];
  let entered = 0;
  let stopped = 0;
  for (const line of log.split('\n').filter((each) => each !== '')) {
    const [event, name = ''] = line.split(' ');
    switch (event) {
      case 'enter':
        for (const [other, state] of states)
          if (state === 'inside' && !dying.has(other)) faults.push(`${name} entered while ${other} was inside.`);
        states.set(name, 'inside');
        entered += 1;
        break;
      case 'leave':
        states.set(name, 'outside');
        break;
      case 'stop':
        if (states.get(name) === 'inside') stopped += 1;
        break;
      case 'kill':
        dying.add(name);
        killed[phaseOf(states.get(name))] += 1;
        break;
      default:
        throw new Error(`Nobody writes "${line}".`);
    }
  }
  return { entered, killed, stopped, faults };
}

function phaseOf(state: 'inside' | 'outside' | undefined): keyof RaceJudgement['killed'] {
  if (state === undefined) return 'acquiring';
  return state === 'inside' ? 'holding' : 'releasing';
}
