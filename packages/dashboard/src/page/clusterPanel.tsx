import type { ClusterView } from '../snapshot.js';
import { List, Panel } from './panel.js';
import { count, counted, duration } from './format.js';

/** The partitions of a run on several machines, and who works on them. */
export function ClusterPanel({ cluster }: { readonly cluster: ClusterView }) {
  const { partitions, done, active, delayed, failed, redisError } = cluster;
  const rest = Math.max(0, partitions - done - active - delayed - failed);
  // Only Redis knows who works on what.
  const parts =
    redisError === undefined
      ? ([
          ['done', done, 'tone-good'],
          ['in progress', active, 'tone-busy'],
          ['to be tried again', delayed, 'tone-warn'],
          ['given up', failed, 'tone-bad'],
          ['waiting', rest, 'tone-quiet'],
        ] as const)
      : ([
          ['done', done, 'tone-good'],
          ['not known', partitions - done, 'tone-quiet'],
        ] as const);
  return (
    <>
      <Panel title="Partitions of the run" class="whole">
        <div class="stack" role="img" aria-label={parts.map(([name, value]) => `${count(value)} ${name}`).join(', ')}>
          {parts.map(([name, value, tone]) => (
            <i key={name} class={tone} style={{ flexGrow: value }} />
          ))}
        </div>
        <ul class="legend">
          {parts.map(([name, value, tone]) => (
            <li key={name}>
              <i class={tone} aria-hidden="true" /> <b>{count(value)}</b> {name}
            </li>
          ))}
        </ul>
      </Panel>
      <Panel title="Workers" class="two-thirds workers">
        <List
          empty={
            redisError === undefined ? 'No worker was heard of in the last 15 seconds.' : 'Not known without Redis.'
          }
          items={cluster.workers}
        >
          {({ name, working, rows, unable }) => (
            <li key={name} class="worker">
              <span class="grow">
                <b>{name}</b> {unable === '' ? null : <span class="chip tone-bad">✕ {unable}</span>}
              </span>
              <span class="muted">
                {working.length === 0
                  ? 'idle'
                  : working.map(([partition, ms]) => `partition ${partition} (${duration(ms)})`).join(', ')}
              </span>
              <b>{counted(rows, 'row')}</b>
            </li>
          )}
        </List>
      </Panel>
      <Panel title="Given up" class="third">
        <List
          empty={redisError === undefined ? 'No partition was given up.' : 'Not known without Redis.'}
          items={cluster.failures}
        >
          {([partition, reason]) => (
            <li key={partition} class="problem">
              <span class="grow">
                <b>Partition {partition}</b> {reason}
              </span>
            </li>
          )}
        </List>
      </Panel>
    </>
  );
}
