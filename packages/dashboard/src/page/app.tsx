import type { Snapshot } from '../snapshot.js';
import { BoardPanel } from './boardPanel.js';
import { Chart } from './chart.js';
import { ClusterPanel } from './clusterPanel.js';
import { latest, link, span, type Link } from './connection.js';
import { ago, clock, count, counted, duration, rate, roughly } from './format.js';
import { LimiterPanel } from './limiterPanel.js';
import { CopyButton, List, Panel } from './panel.js';
import { headline, signs } from './words.js';

/** The whole page: the answers first, then what they are made of. */
export function App() {
  const snapshot = latest.value;
  const isStale = link.value === 'lost' && snapshot !== undefined;
  return (
    <>
      <Bar snapshot={snapshot} state={link.value} />
      <main class={isStale ? 'stale' : ''} aria-busy={snapshot === undefined && link.value !== 'refused'}>
        <Hero snapshot={snapshot} state={link.value} />
        {link.value === 'refused' && !snapshot ? null : <Panels snapshot={snapshot} />}
      </main>
    </>
  );
}

const linkWords: Readonly<Record<Link, string>> = {
  connecting: 'Connecting',
  live: 'Live',
  lost: 'Disconnected, trying again',
  hidden: 'Paused while hidden',
  refused: 'Refused',
  ended: 'Run ended',
};

function Bar({ snapshot, state }: { readonly snapshot: Snapshot | undefined; readonly state: Link }) {
  const about = snapshot?.about;
  return (
    <header class="bar">
      <span class="mark" aria-hidden="true" />
      <p class="task">
        <b>{about?.title ?? 'Sluice'}</b>
        {about?.target === undefined ? null : <span class="target"> → {about.target}</span>}
      </p>
      <p class={`link link-${state}`} role="status">
        {linkWords[state]}
      </p>
    </header>
  );
}

function Hero({ snapshot, state }: { readonly snapshot: Snapshot | undefined; readonly state: Link }) {
  const { tone, title, text } = headline(snapshot, state);
  const { cluster = null, totals, end, expectedRows = null, left = null, about } = snapshot ?? {};
  const isWatch = about?.kind === 'watch';
  // Not every target commits before its end.
  const isCommitted = (totals?.committedRows ?? 0) > 0;
  const rows = cluster?.rows ?? (isCommitted ? totals?.committedRows : totals?.rows) ?? 0;
  const share = shareOf(snapshot);
  return (
    <section class={`hero tone-${tone}`} aria-labelledby="headline">
      <div class="answer">
        <span class="sign" aria-hidden="true">
          {signs[tone]}
        </span>
        <div>
          <h1 id="headline">{title}</h1>
          <p class="why">{text}</p>
        </div>
      </div>
      <dl class="figures">
        <Figure
          name="Rows per second"
          value={snapshot ? rate(snapshot.pace) : '–'}
          note={paceNote(snapshot)}
          id="pace"
        />
        {isWatch ? (
          <Figure
            name="Changes"
            value={totals ? count(totals.changes) : '–'}
            note={snapshot?.board ? `${counted(snapshot.board.total, 'row')} watched` : 'no change yet'}
            id="changes"
          />
        ) : (
          <Figure
            name={cluster ? 'Rows done' : isCommitted || end ? 'Rows committed' : 'Rows fetched'}
            value={snapshot ? count(rows) : '–'}
            note={rowsNote(snapshot)}
            id="rows"
          />
        )}
        <Figure
          name={end ? 'Took' : isWatch ? 'Watching for' : 'Done in'}
          value={timeValue(snapshot)}
          note={
            end
              ? `at ${clock(end.at)}`
              : left === null || !snapshot
                ? startNote(snapshot)
                : `at about ${clock(snapshot.now + left)}`
          }
          id="left"
        />
        <Figure
          name={cluster ? 'Given up' : 'Retries'}
          value={snapshot ? count(cluster?.failed ?? totals?.retries ?? 0) : '–'}
          note={
            cluster ? `${count(cluster.delayed)} to be tried again` : `of ${counted(totals?.requests ?? 0, 'request')}`
          }
          id="retries"
        />
      </dl>
      <div
        class="progress"
        role="progressbar"
        aria-label={expectedRows === null && !cluster ? 'Progress: the end is not known' : 'Progress'}
        aria-valuemin={0}
        aria-valuemax={100}
        {...(share === undefined ? {} : { 'aria-valuenow': Math.floor(100 * share) })}
      >
        <span class={share === undefined ? 'unknown' : ''} style={{ width: `${100 * (share ?? 0)}%` }} />
      </div>
    </section>
  );
}

function Figure({ name, value, note, id }: { name: string; value: string; note: string; id: string }) {
  return (
    <div class="figure">
      <dt>{name}</dt>
      <dd data-figure={id}>{value}</dd>
      <dd class="note">{note}</dd>
    </div>
  );
}

function shareOf(snapshot: Snapshot | undefined): number | undefined {
  if (!snapshot) return undefined;
  const { cluster, expectedRows, totals, phase } = snapshot;
  if (phase === 'finished') return 1;
  if (cluster) return cluster.partitions === 0 ? undefined : cluster.done / cluster.partitions;
  if (snapshot.about.kind === 'watch' || expectedRows === null || expectedRows === 0) return undefined;
  return Math.min(1, Math.max(totals.committedRows, totals.rows) / expectedRows);
}

function paceNote(snapshot: Snapshot | undefined): string {
  if (!snapshot) return 'not known yet';
  if (snapshot.cluster) return counted(snapshot.cluster.workers.length, 'worker');
  const seconds = Math.max(1, ((snapshot.end?.at ?? snapshot.now) - snapshot.startedAt) / 1_000);
  return `${rate(snapshot.totals.rows / seconds)} on average`;
}

function rowsNote(snapshot: Snapshot | undefined): string {
  if (!snapshot) return 'not known yet';
  const { expectedRows, totals, cluster } = snapshot;
  if (cluster) return `${count(cluster.done)} of ${counted(cluster.partitions, 'partition')}`;
  const pages = counted(totals.committedRows > 0 ? totals.committedPages : totals.pages, 'page');
  return expectedRows === null ? `in ${pages}` : `of ${count(expectedRows)}, in ${pages}`;
}

function timeValue(snapshot: Snapshot | undefined): string {
  if (!snapshot) return '–';
  const { end, now, startedAt, left, about } = snapshot;
  if (end) return duration(end.at - startedAt);
  if (about.kind === 'watch') return roughly(now - startedAt);
  return left === null ? 'unknown' : roughly(left);
}

function startNote(snapshot: Snapshot | undefined): string {
  return snapshot ? `since ${clock(snapshot.startedAt)}` : 'not known yet';
}

function Panels({ snapshot }: { readonly snapshot: Snapshot | undefined }) {
  const isWatch = snapshot?.about.kind === 'watch' || (snapshot?.board ?? null) !== null;
  return (
    <div class="panels">
      {isWatch && snapshot ? (
        <BoardPanel board={snapshot.board} now={snapshot.now} command={snapshot.about.command} />
      ) : null}
      {snapshot?.cluster ? <ClusterPanel cluster={snapshot.cluster} /> : null}
      <Throughput snapshot={snapshot} />
      {snapshot?.cluster ? null : <Details snapshot={snapshot} />}
      {isWatch ? null : <CommandLine command={snapshot?.about.command} />}
    </div>
  );
}

/** What the events of a client tell; those of a cluster's workers stay with them. */
function Details({ snapshot }: { readonly snapshot: Snapshot | undefined }) {
  return (
    <>
      <LimiterPanel snapshot={snapshot} />
      <Panel title="Retries by reason" class="third">
        <List empty="No request had to be repeated." items={snapshot?.retries}>
          {({ reason, count: times, at }) => (
            <li key={reason}>
              <span class="grow">{reason}</span>
              <span class="muted">{ago(at, snapshot?.now ?? at)}</span>
              <b>{count(times)}</b>
            </li>
          )}
        </List>
      </Panel>
      <Panel title="Slowest responses" class="third">
        <List empty="No response yet." items={snapshot?.slowest}>
          {({ route, took, status, at }, nth) => (
            <li key={nth}>
              <span class="grow">{route}</span>
              <span class="muted">
                {status} · {clock(at)}
              </span>
              <b>{duration(took)}</b>
            </li>
          )}
        </List>
      </Panel>
      <Panel title="Checkpoints" class="third">
        <List empty="Nothing is committed yet." items={snapshot?.commits}>
          {({ at, rows, pages, isLast }, nth) => (
            <li key={nth}>
              <span class="grow">
                {clock(at)} {isLast ? <span class="chip tone-good">✓ complete</span> : null}
              </span>
              <span class="muted">{counted(pages, 'page')}</span>
              <b>{counted(rows, 'row')}</b>
            </li>
          )}
        </List>
      </Panel>
      <Panel title="Partitions" class="third">
        <List empty="No page arrived yet." items={snapshot?.partitions.latest} lead={partitionsLead(snapshot)}>
          {([partition, pages, at]) => (
            <li key={partition}>
              <span class="grow">Partition {count(partition + 1)}</span>
              <span class="muted">{ago(at, snapshot?.now ?? at)}</span>
              <b>page {count(pages)}</b>
            </li>
          )}
        </List>
      </Panel>
      <Panel title="Errors and warnings" class="two-thirds">
        <List empty="Nothing went wrong." items={snapshot?.problems}>
          {({ at, level, from, message }, nth) => (
            <li key={nth} class="problem">
              <span class={`chip tone-${levelTones[level]}`}>
                {signs[levelTones[level]]} {level}
              </span>
              <span class="grow">
                <b>{from}</b> <bdi>{message}</bdi>
              </span>
              <span class="muted">{clock(at)}</span>
            </li>
          )}
        </List>
      </Panel>
    </>
  );
}

const levelTones = { error: 'bad', warning: 'warn', info: 'quiet' } as const;

function partitionsLead(snapshot: Snapshot | undefined): string {
  if (!snapshot || snapshot.partitions.begun === 0) return '';
  const { begun, of } = snapshot.partitions;
  return of === null ? `${count(begun)} begun` : `${count(begun)} of ${count(of)} begun`;
}

const spans = [
  ['300', '5 min'],
  ['3600', '1 h'],
  ['all', 'all'],
] as const;

function Throughput({ snapshot }: { readonly snapshot: Snapshot | undefined }) {
  const series = snapshot?.series;
  const step = series?.step ?? 1;
  const isWatch = snapshot?.about.kind === 'watch';
  return (
    <Panel title={isWatch ? 'Changes' : 'Rows per second'} class={snapshot?.cluster ? 'whole tall' : 'two-thirds tall'}>
      <div class="choice" role="group" aria-label="Time shown">
        {spans.map(([value, name]) => (
          <button key={value} type="button" aria-pressed={span.value === value} onClick={() => (span.value = value)}>
            {name}
          </button>
        ))}
      </div>
      {series ? (
        <Chart
          series={series}
          lines={[
            isWatch
              ? { label: 'changes', values: series.changes, color: '--flow', isFilled: true }
              : { label: 'rows', values: series.rows.map((rows) => rows / step), color: '--flow', isFilled: true },
          ]}
          height={250}
          label={isWatch ? 'Changes over time.' : `Rows per second over time; ${rate(snapshot.pace)} now.`}
        />
      ) : (
        <div class="chart blank" />
      )}
    </Panel>
  );
}

function CommandLine({ command }: { readonly command: string | undefined }) {
  if (command === undefined) return null;
  return (
    <Panel title="The command" class="whole">
      <p class="command">
        <code tabIndex={0}>{command}</code>
        <CopyButton text={command} />
      </p>
    </Panel>
  );
}
