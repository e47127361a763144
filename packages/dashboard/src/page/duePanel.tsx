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
      <ul class="list" tabIndex={0} aria-label="What is due">
        {due.map((each) => (
          <li key={`${each.rule} ${each.key} ${each.name}`} class="worker">
            <span class="chip tone-bad">{each.rule}</span>
            <span class="key" title={each.key === '' ? each.name : `${each.name}, ${each.key}`}>
              {each.name}
            </span>
            <span class="muted">{dueText(each, now)}</span>
          </li>
        ))}
      </ul>
    </div>
  );
}

function dueText({ since, isEarlier, actBefore }: DueView, now: number): string {
  const began = `Began ${ago(since, now)}${isEarlier ? ' or earlier' : ''}.`;
  if (actBefore === undefined) return began;
  return actBefore === null || actBefore <= now
    ? `${began} May end at any time.`
    : `${began} Act within ${roughly(actBefore - now, Math.floor)}.`;
}
