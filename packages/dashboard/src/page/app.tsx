import type { About, Snapshot } from '../snapshot.js';
import { BoardPanel } from './boardPanel.js';
import { Chart } from './chart.js';
import { ClusterPanel } from './clusterPanel.js';
import { latest, link, span, type Link } from './connection.js';
import { ago, clock, count, counted, duration, elapsed, rate, roughly } from './format.js';
import { LimiterPanel } from './limiterPanel.js';
import { DeliveriesPanel } from './deliveriesPanel.js';
import { CopyButton, List, Panel } from './panel.js';
import { headline, isWatch, signs } from './words.js';

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
  const share = shareDone(snapshot);
  return (
    <>
      <dl class="figures">
        {(isWatch(snapshot) ? watchFigures : runFigures)(snapshot).map((figure) => (
          <div class="figure" key={figure.id}>
            <dt>{figure.name}</dt>
            <dd data-figure={figure.id}>{figure.value}</dd>
            <dd class="note">{figure.note}</dd>
          </div>
        ))}
      </dl>
      {share === undefined ? null : (
        <div
          class="progress"
          role="progressbar"
          aria-label="Progress"
          aria-valuemin={0}
          aria-valuemax={100}
          aria-valuenow={Math.floor(100 * share)}
        >
          <span style={{ width: `${100 * share}%` }} />
        </div>
      )}
    </>
  );
}

interface Figure {
  readonly id: string;
  readonly name: string;
  readonly value: string;
  readonly note: string;
}

function watchFigures(snapshot: Snapshot): readonly Figure[] {
  const { board, totals, startedAt, now } = snapshot;
  const { since = 0, changes = [] } = board ?? {};
  const [latest] = changes;
  return [
    {
      id: 'watched',
      name: 'Rows watched',
      value: board ? count(board.total) : '–',
      note: board ? `since ${clock(board.since)}` : 'no poll has ended yet',
    },
    {
      id: 'changes',
      name: 'Changes',
      value: count(totals.changes),
      note: latest ? `the last ${ago(since + 1_000 * latest[0], now)}` : 'none yet',
    },
    timeFigure(snapshot, 'Watching for', elapsed(now - startedAt)),
    requestFigure(snapshot),
  ];
}

function runFigures(snapshot: Snapshot): readonly Figure[] {
  const { cluster, totals, end } = snapshot;
  // Not every target commits before its end.
  const isCommitted = totals.committedRows > 0;
  return [
    {
      id: 'pace',
      name: 'Rows per second',
      value: cluster?.redisError === undefined ? rate(snapshot.pace) : '–',
      note: paceNote(snapshot),
    },
    {
      id: 'rows',
      name: cluster ? 'Rows done' : isCommitted || end ? 'Rows committed' : 'Rows fetched',
      value: count(cluster?.rows ?? (isCommitted ? totals.committedRows : totals.rows)),
      note: rowsNote(snapshot),
    },
    progressFigure(snapshot),
    cluster
      ? {
          id: 'retries',
          name: 'Given up',
          value: cluster.redisError === undefined ? count(cluster.failed) : '–',
          note: cluster.redisError === undefined ? `${count(cluster.delayed)} to be tried again` : 'not known',
        }
      : requestFigure(snapshot),
  ];
}

function requestFigure({ totals, deliveries }: Snapshot): Figure {
  const { retries, requests } = totals;
  if (!deliveries)
    return { id: 'retries', name: 'Retries', value: count(retries), note: `of ${counted(requests, 'request')}` };
  const { repeated } = deliveries;
  const note = `${count(repeated)} of them ${repeated === 1 ? 'a delivery' : 'deliveries'}`;
  return { id: 'retries', name: 'Repeated', value: count(retries + repeated), note };
}

/** How long it takes, if rows are counted; else how many partitions are done: these are unlike, so they tell no time. */
function progressFigure(snapshot: Snapshot): Figure {
  const { left, now, startedAt, end } = snapshot;
  const done = partitionsDone(snapshot);
  if (left !== null && !end)
    return { id: 'left', name: 'Done in about', value: roughly(left), note: `at ${clock(now + left)}` };
  if (!done || end) return timeFigure(snapshot, 'Running for', elapsed(now - startedAt));
  return {
    id: 'left',
    name: `${inCapitals(done.noun)} done`,
    value: count(done.done),
    note: `of ${count(done.of)}, in ${elapsed(now - startedAt)}`,
  };
}

function timeFigure({ end, startedAt }: Snapshot, name: string, value: string): Figure {
  if (end) return { id: 'left', name: 'Took', value: duration(end.at - startedAt), note: `until ${clock(end.at)}` };
  return { id: 'left', name, value, note: `since ${clock(startedAt)}` };
}

/** `undefined` if there are no partitions, or nobody knows how many. */
function partitionsDone({
  about,
  cluster,
  partitions,
}: Snapshot): { done: number; of: number; noun: string } | undefined {
  const [, noun] = about.partitionNoun ?? ['partition', 'partitions'];
  if (cluster) return { done: cluster.done, of: cluster.partitions, noun };
  if (partitions.of === null || partitions.of <= 1) return undefined;
  return { done: Math.min(partitions.done, partitions.of), of: partitions.of, noun };
}

/** `undefined` if nobody knows how much there is. */
function shareDone(snapshot: Snapshot): number | undefined {
  const { about, expectedRows, totals, end } = snapshot;
  if (isWatch(snapshot)) return undefined;
  if (end?.outcome === 'finished') return 1;
  const done = partitionsDone(snapshot);
  const { resumedRows = 0 } = about;
  if (expectedRows !== null && expectedRows > 0)
    return Math.min(1, Math.max(totals.committedRows, resumedRows + totals.rows) / expectedRows);
  return done && done.of > 0 ? done.done / done.of : undefined;
}

function paceNote({ cluster, end, now, startedAt, totals }: Snapshot): string {
  if (cluster) return cluster.redisError === undefined ? counted(cluster.workers.length, 'worker') : 'not known';
  const seconds = Math.max(1, ((end?.at ?? now) - startedAt) / 1_000);
  return `${rate(totals.rows / seconds)} on average`;
}

function rowsNote({ expectedRows, totals, cluster }: Snapshot): string {
  if (cluster) return `in ${counted(cluster.done, 'partition')}`;
  const pages = counted(totals.committedRows > 0 ? totals.committedPages : totals.pages, 'page');
  return expectedRows === null ? `in ${pages}` : `of ${count(expectedRows)}, in ${pages}`;
}

function Panels({ snapshot }: { readonly snapshot: Snapshot }) {
  const { about, board, cluster, now } = snapshot;
  const hasBoard = about.kind === 'watch' || board !== null;
  return (
    <div class="panels">
      {hasBoard ? <BoardPanel board={board} now={now} command={about.command} /> : null}
      {cluster ? <ClusterPanel cluster={cluster} /> : null}
      {snapshot.deliveries ? <DeliveriesPanel deliveries={snapshot.deliveries} now={now} /> : null}
      <Throughput snapshot={snapshot} />
      {cluster ? null : <Details snapshot={snapshot} />}
      {hasBoard ? null : <CommandLine command={about.command} />}
    </div>
  );
}

/** What the events of a client tell; those of a cluster's workers stay with them. */
function Details({ snapshot }: { readonly snapshot: Snapshot }) {
  const { about, now, retries, slowest, commits, partitions, problems } = snapshot;
  const { latest: pages } = partitions;
  const done = partitionsDone(snapshot);
  const isSplit = !isWatch(snapshot) && (done !== undefined || partitions.begun > 1);
  const [one] = about.partitionNoun ?? ['partition'];
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
              {isWatch(snapshot) ? null : <span class="muted">{counted(pages, 'page')}</span>}
              <b>{isWatch(snapshot) ? counted(pages, 'poll') : counted(rows, 'row')}</b>
            </li>
          )}
        </List>
      </Panel>
      {isSplit ? (
        <Panel title={inCapitals(done?.noun ?? 'partitions')} class="third">
          <p class="lead">
            {done ? `${count(done.done)} of ${count(done.of)} done` : `${count(partitions.done)} done`}
          </p>
          <List empty="No page arrived yet." items={pages}>
            {([partition, page, at]) => (
              <li key={partition}>
                <span class="grow">
                  {inCapitals(one)} {count(partition + 1)}
                </span>
                <span class="muted">{ago(at, now)}</span>
                <b>page {count(page)}</b>
              </li>
            )}
          </List>
        </Panel>
      ) : null}
      <Panel title="Errors and warnings" class={isSplit ? 'two-thirds' : 'whole listed'}>
        <List empty="Nothing went wrong." items={problems}>
          {({ at, level, from, message, count: times }, nth) => (
            <li key={nth} class="problem">
              <span class={`chip tone-${levelTones[level]}`}>
                {signs[levelTones[level]]} {level}
              </span>
              <span class="grow">
                <b>{from}</b> <bdi>{message}</bdi>
              </span>
              <span class="muted">
                {times > 1 ? `${count(times)} times, last ` : ''}
                {clock(at)}
              </span>
            </li>
          )}
        </List>
      </Panel>
    </>
  );
}

function inCapitals(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

const levelTones = { error: 'bad', warning: 'warn', info: 'quiet' } as const;

const spans = [
  ['300', '5 min'],
  ['3600', '1 h'],
  ['all', 'all'],
] as const;

function Throughput({ snapshot }: { readonly snapshot: Snapshot }) {
  const { series, cluster } = snapshot;
  const isOfChanges = isWatch(snapshot);
  return (
    <Panel title={isOfChanges ? 'Changes' : 'Rows per second'} class={cluster ? 'whole tall' : 'two-thirds tall'}>
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
          isOfChanges
            ? { label: 'changes', values: series.changes, color: '--flow', isCount: true }
            : {
                label: 'rows',
                values: series.rows.map((rows) => rows && rows / series.step),
                color: '--flow',
                isFilled: true,
              },
        ]}
        height={250}
        label={isOfChanges ? 'Changes over time.' : `Rows per second over time; ${rate(snapshot.pace)} now.`}
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
