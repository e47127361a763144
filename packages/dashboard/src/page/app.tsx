import type { About, Snapshot } from '../snapshot.js';
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
      <Bar about={snapshot?.about} state={link.value} />
      <main class={isStale ? 'stale' : ''} aria-busy={snapshot === undefined && link.value !== 'refused'}>
        <Hero snapshot={snapshot} state={link.value} />
        {snapshot ? <Panels snapshot={snapshot} /> : null}
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

function Bar({ about, state }: { readonly about: About | undefined; readonly state: Link }) {
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
      {snapshot ? <Figures snapshot={snapshot} /> : null}
    </section>
  );
}

function Figures({ snapshot }: { readonly snapshot: Snapshot }) {
  const { about, cluster, totals, end, expectedRows, left, now, startedAt } = snapshot;
  const isWatch = about.kind === 'watch';
  // Not every target commits before its end.
  const isCommitted = totals.committedRows > 0;
  const share = shareDone(snapshot);
  return (
    <>
      <dl class="figures">
        <Figure name="Rows per second" value={rate(snapshot.pace)} note={paceNote(snapshot)} id="pace" />
        {isWatch ? (
          <Figure
            name="Changes"
            value={count(totals.changes)}
            note={snapshot.board ? `${counted(snapshot.board.total, 'row')} watched` : 'no change yet'}
            id="changes"
          />
        ) : (
          <Figure
            name={cluster ? 'Rows done' : isCommitted || end ? 'Rows committed' : 'Rows fetched'}
            value={count(cluster?.rows ?? (isCommitted ? totals.committedRows : totals.rows))}
            note={rowsNote(snapshot)}
            id="rows"
          />
        )}
        <Figure
          name={end ? 'Took' : isWatch ? 'Watching for' : 'Done in'}
          value={timeValue(snapshot)}
          note={
            end ? `at ${clock(end.at)}` : left === null ? `since ${clock(startedAt)}` : `at about ${clock(now + left)}`
          }
          id="left"
        />
        <Figure
          name={cluster ? 'Given up' : 'Retries'}
          value={count(cluster?.failed ?? totals.retries)}
          note={cluster ? `${count(cluster.delayed)} to be tried again` : `of ${counted(totals.requests, 'request')}`}
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
    </>
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

/** `undefined` if nobody knows how much there is. */
function shareDone({ about, cluster, expectedRows, totals, end }: Snapshot): number | undefined {
  if (end?.outcome === 'finished') return 1;
  if (cluster) return cluster.partitions === 0 ? undefined : cluster.done / cluster.partitions;
  if (about.kind === 'watch' || expectedRows === null || expectedRows === 0) return undefined;
  return Math.min(1, Math.max(totals.committedRows, totals.rows) / expectedRows);
}

function paceNote({ cluster, end, now, startedAt, totals }: Snapshot): string {
  if (cluster) return counted(cluster.workers.length, 'worker');
  const seconds = Math.max(1, ((end?.at ?? now) - startedAt) / 1_000);
  return `${rate(totals.rows / seconds)} on average`;
}

function rowsNote({ expectedRows, totals, cluster }: Snapshot): string {
  if (cluster) return `${count(cluster.done)} of ${counted(cluster.partitions, 'partition')}`;
  const pages = counted(totals.committedRows > 0 ? totals.committedPages : totals.pages, 'page');
  return expectedRows === null ? `in ${pages}` : `of ${count(expectedRows)}, in ${pages}`;
}

function timeValue({ end, now, startedAt, left, about }: Snapshot): string {
  if (end) return duration(end.at - startedAt);
  if (about.kind === 'watch') return roughly(now - startedAt);
  return left === null ? 'unknown' : roughly(left);
}

function Panels({ snapshot }: { readonly snapshot: Snapshot }) {
  const { about, board, cluster, now } = snapshot;
  const isWatch = about.kind === 'watch' || board !== null;
  return (
    <div class="panels">
      {isWatch ? <BoardPanel board={board} now={now} command={about.command} /> : null}
      {cluster ? <ClusterPanel cluster={cluster} /> : null}
      <Throughput snapshot={snapshot} />
      {cluster ? null : <Details snapshot={snapshot} />}
      {isWatch ? null : <CommandLine command={about.command} />}
    </div>
  );
}

/** What the events of a client tell; those of a cluster's workers stay with them. */
function Details({ snapshot }: { readonly snapshot: Snapshot }) {
  const { now, retries, slowest, commits, partitions, problems } = snapshot;
  const { begun, of, latest: pages } = partitions;
  return (
    <>
      <LimiterPanel snapshot={snapshot} />
      <Panel title="Retries by reason" class="third">
        <List empty="No request had to be repeated." items={retries}>
          {({ reason, count: times, at }) => (
            <li key={reason}>
              <span class="grow">{reason}</span>
              <span class="muted">{ago(at, now)}</span>
              <b>{count(times)}</b>
            </li>
          )}
        </List>
      </Panel>
      <Panel title="Slowest responses" class="third">
        <List empty="No response yet." items={slowest}>
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
        <List empty="Nothing is committed yet." items={commits}>
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
        {begun === 0 ? null : (
          <p class="lead">{of === null ? `${count(begun)} begun` : `${count(begun)} of ${count(of)} begun`}</p>
        )}
        <List empty="No page arrived yet." items={pages}>
          {([partition, page, at]) => (
            <li key={partition}>
              <span class="grow">Partition {count(partition + 1)}</span>
              <span class="muted">{ago(at, now)}</span>
              <b>page {count(page)}</b>
            </li>
          )}
        </List>
      </Panel>
      <Panel title="Errors and warnings" class="two-thirds">
        <List empty="Nothing went wrong." items={problems}>
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

const spans = [
  ['300', '5 min'],
  ['3600', '1 h'],
  ['all', 'all'],
] as const;

function Throughput({ snapshot }: { readonly snapshot: Snapshot }) {
  const { series, about, cluster } = snapshot;
  const isWatch = about.kind === 'watch';
  return (
    <Panel title={isWatch ? 'Changes' : 'Rows per second'} class={cluster ? 'whole tall' : 'two-thirds tall'}>
      <div class="choice" role="group" aria-label="Time shown">
        {spans.map(([value, name]) => (
          <button key={value} type="button" aria-pressed={span.value === value} onClick={() => (span.value = value)}>
            {name}
          </button>
        ))}
      </div>
      <Chart
        series={series}
        lines={[
          isWatch
            ? { label: 'changes', values: series.changes, color: '--flow', isFilled: true }
            : { label: 'rows', values: series.rows.map((rows) => rows / series.step), color: '--flow', isFilled: true },
        ]}
        height={250}
        label={isWatch ? 'Changes over time.' : `Rows per second over time; ${rate(snapshot.pace)} now.`}
      />
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
