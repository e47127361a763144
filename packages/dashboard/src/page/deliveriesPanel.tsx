import type { DeliveriesView } from '../snapshot.js';
import { ago, count } from './format.js';
import { Panel } from './panel.js';

/** What became of the requests to the endpoint of a target. */
export function DeliveriesPanel({ deliveries, now }: { readonly deliveries: DeliveriesView; readonly now: number }) {
  const { accepted, repeated, waiting, deadLetters, last } = deliveries;
  const figures = [
    ['delivered', accepted, 'tone-busy'],
    ['repeated', repeated, repeated > 0 ? 'tone-warn' : 'tone-quiet'],
    ['waiting', waiting, waiting > 0 && last && !last.isAccepted ? 'tone-warn' : 'tone-quiet'],
    ['dead letters', deadLetters, deadLetters > 0 ? 'tone-bad' : 'tone-quiet'],
  ] as const;
  return (
    <Panel title="Deliveries" class="whole deliveries">
      <ul class="cards" aria-label="Deliveries">
        {figures.map(([name, value, tone]) => (
          <li key={name} class={`card ${tone}`}>
            <b>{count(value)}</b>
            <span>{name}</span>
          </li>
        ))}
        <li class={`card answer-card ${last ? (last.isAccepted ? 'tone-good' : 'tone-bad') : 'tone-quiet'}`}>
          <b>{last?.answer ?? 'none yet'}</b>
          <span>last answer{last ? `, ${ago(last.at, now)}` : ''}</span>
        </li>
      </ul>
    </Panel>
  );
}
