import type { DueView } from '../snapshot.js';
import { ago, count, roughly } from './format.js';
import { signs } from './words.js';

interface DueProps {
  readonly due: readonly DueView[];
  /** All of them, of which `due` has the most urgent. */
  readonly total: number;
  readonly now: number;
}

/** What rules have found and what is not resolved, on top of the rows. */
export function DuePanel({ due, total, now }: DueProps) {
  if (total === 0) return null;
  return (
    <div class="due" role="alert">
      <h3>
        {signs.bad} Due{' '}
        <span class="muted">
          {due.length < total ? `${due.length} of ${count(total)}, the most urgent first` : count(total)}
        </span>
      </h3>
      <ul class="list" aria-label="What is due">
        {due.map(({ name, key, rule, since, isEarlier, actBefore }) => (
          <li key={`${rule} ${key} ${name}`}>
            <span class="chip tone-bad">{rule}</span>
            <span class="key" title={key === '' ? name : `${name}, ${key}`}>
              {name}
            </span>
            <span class="grow">{`began ${ago(since, now)}${isEarlier ? ' or earlier' : ''}`}</span>
            {actBefore === null ? null : (
              <b title={new Date(actBefore).toLocaleString('en-GB')}>
                {actBefore <= now ? 'may end at any time' : `act within ${roughly(actBefore - now, Math.floor)}`}
              </b>
            )}
          </li>
        ))}
      </ul>
    </div>
  );
}
