import type { LimiterView, Snapshot } from '../snapshot.js';
import { Panel } from './panel.js';
import { Chart } from './chart.js';
import { clock, counted, duration } from './format.js';
import { causeText } from './words.js';

/** Starts in the window against the limit, who waits, and pauses with their cause. */
export function LimiterPanel({ snapshot }: { readonly snapshot: Snapshot }) {
  const { limiters, series, pauses, end } = snapshot;
  if (limiters.length === 0)
    return (
      <Panel title="Rate limit" class="third tall">
        <p class="empty">No request has asked for a permit yet.</p>
      </Panel>
    );
  const limit = limiters.map((each) => each.limit).find((each) => each !== null) ?? null;
  return (
    <Panel title="Rate limit" class="third tall">
      {limiters.slice(0, 2).map((limiter) => (
        <Limiter key={limiter.name} limiter={limiter} isOver={end !== null} />
      ))}
      {limiters.length > 2 ? <p class="muted">and {counted(limiters.length - 2, 'more limiter')}</p> : null}
      <p class="keys" aria-hidden="true">
        <i class="key-used" /> starts <i class="key-waiting" /> waiting{' '}
        {limit === null ? null : (
          <>
            <i class="key-limit" /> limit
          </>
        )}
      </p>
      <Chart
        series={series}
        lines={[
          { label: 'used', values: series.used, color: '--flow', isFilled: true },
          { label: 'waiting', values: series.queued, color: '--bad' },
        ]}
        level={limit}
        height={limiters.length > 1 ? 70 : 96}
        label={`Starts used, and requests waiting, over time${limit === null ? '' : `, against the limit of ${limit}`}.`}
      />
      <Pauses pauses={pauses} />
    </Panel>
  );
}

function Limiter({ limiter, isOver }: { readonly limiter: LimiterView; readonly isOver: boolean }) {
  const { name, used, limit, per, queued, running, paused, cause } = limiter;
  const share = limit === null ? 0 : Math.min(1, used / limit);
  return (
    <div class="limiter">
      <p class="row">
        <b class="grow">{name}</b>
        <span>{limit === null ? 'no limit' : `${used} of ${limit} starts in ${duration(per)}`}</span>
      </p>
      <div
        class={`meter ${share >= 0.95 ? 'full' : ''}`}
        role="img"
        aria-label={`${Math.round(100 * share)} percent of the limit used`}
      >
        <span style={{ width: `${100 * share}%` }} />
      </div>
      <p class="row muted">
        <span class="grow">
          {isOver ? 'as it was at the end' : `${counted(queued, 'request')} waiting, ${running} in progress`}
        </span>
        {paused > 0 ? (
          <span class="chip tone-warn" title={causeText(cause)}>
            ! paused, {duration(paused)} left
          </span>
        ) : null}
      </p>
    </div>
  );
}

function Pauses({ pauses }: Pick<Snapshot, 'pauses'>) {
  if (pauses.length === 0) return <p class="empty small">The API asked for no pause.</p>;
  return (
    <ul class="list short" tabIndex={0} aria-label="Pauses">
      {pauses.map(({ at, ms, cause, route }, nth) => (
        <li key={nth} title={route}>
          <span class="grow">{causeText(cause)}</span>
          <span class="muted">{clock(at)}</span>
          <b>{duration(ms)}</b>
        </li>
      ))}
    </ul>
  );
}
