import { signal } from '@preact/signals';
import { changeKinds, type BoardView, type ChangeView, type RowView } from '../snapshot.js';
import { CopyButton, Panel } from './panel.js';
import { ago, clock, count, counted } from './format.js';
import { signs, findTone, type Tone } from './words.js';

const filter = signal('');
/** The status, or the kind, that was clicked. */
const chosen = signal<string | undefined>(undefined);
const shown = 200;
const gone = -2;

interface BoardProps {
  readonly board: BoardView | null;
  readonly now: number;
  readonly command: string | undefined;
}

/** A card a status, a row a watched row with the strip of its status over time, and the changes. */
export function BoardPanel({ board, now, command }: BoardProps) {
  return (
    <Panel title="Watched rows" class="whole board">
      {board ? (
        <>
          <Cards board={board} />
          <div class="columns">
            <Rows board={board} now={now} />
            <Changes board={board} />
          </div>
        </>
      ) : (
        <p class="empty">The first poll has not ended yet.</p>
      )}
      {command === undefined ? null : (
        <p class="command">
          <span class="muted">The same in a terminal:</span> <code tabIndex={0}>{command}</code>
          <CopyButton text={command} />
        </p>
      )}
    </Panel>
  );
}

function Cards({ board }: { readonly board: BoardView }) {
  const { names, counts, kinds } = board;
  const without = counts[names.length] ?? 0;
  const cards: (readonly [name: string, value: number, tone: string, filter: string])[] =
    names.length > 0
      ? [
          ...names.map((name, nth) => [name, counts[nth] ?? 0, toneClass(name, nth), name] as const),
          ...(without > 0 ? [['no status', without, 'tone-quiet', ''] as const] : []),
        ]
      : changeKinds.flatMap((kind, nth) => {
          const value = kinds[nth] ?? 0;
          return value === 0 && kind === 'known' ? [] : [[kind, value, `tone-${kindTones[kind]}`, kind] as const];
        });
  return (
    <div class="cards" role="group" aria-label="Rows by status">
      {cards.map(([name, value, tone, by]) => (
        <button
          key={name}
          type="button"
          class={`card ${tone}`}
          aria-pressed={by !== '' && chosen.value === by}
          onClick={() => (chosen.value = chosen.value === by || by === '' ? undefined : by)}
        >
          <b>{count(value)}</b>
          <span>{name}</span>
        </button>
      ))}
    </div>
  );
}

const kindTones = {
  initial: 'quiet',
  known: 'quiet',
  added: 'good',
  changed: 'busy',
  removed: 'warn',
} as const satisfies Record<(typeof changeKinds)[number], Tone>;

/** Statuses without a known meaning differ by colour, and always by their name. */
function toneClass(name: string, nth: number): string {
  const tone = findTone(name);
  return tone ? `tone-${tone}` : `hue-${nth % 5}`;
}

function Rows({ board, now }: { readonly board: BoardView; readonly now: number }) {
  const { rows, total, names } = board;
  const status = chosen.value;
  const visible =
    status === undefined || !names.includes(status) ? rows : rows.filter((row) => names[lastStatus(row)] === status);
  return (
    <div>
      <h3>
        Rows{' '}
        <span class="muted">
          {visible.length < total ? `${visible.length} of ${count(total)}, changed last` : counted(total, 'row')}
        </span>
      </h3>
      <ul class="list rows" tabIndex={0} aria-label="Rows with their status over time">
        {visible.map((row) => (
          <Row key={row[0]} row={row} board={board} now={now} />
        ))}
      </ul>
    </div>
  );
}

function lastStatus([, ...strip]: RowView): number {
  return strip.at(-1)?.[1] ?? -1;
}

function Row({ row, board, now }: { readonly row: RowView; readonly board: BoardView; readonly now: number }) {
  const [key, ...strip] = row;
  const { names, since } = board;
  const until = Math.max(1, (now - since) / 1_000);
  const from = strip[0]?.[0] ?? 0;
  const nameOf = (status: number): string => (status === gone ? 'gone' : (names[status] ?? 'no status'));
  const last = strip.at(-1);
  const spoken = strip.map(([at, status]) => `${nameOf(status)} ${ago(since + 1_000 * at, now)}`).join(', then ');
  return (
    <li class={last?.[1] === gone ? 'gone' : ''}>
      <span class="key" title={key}>
        {key}
      </span>
      <span class="strip" role="img" aria-label={spoken}>
        <i style={{ flexGrow: Math.max(0, from) }} class="before" />
        {strip.map(([at, status], nth) => (
          <i
            key={nth}
            class={status < 0 ? 'tone-quiet' : toneClass(nameOf(status), status)}
            style={{ flexGrow: Math.max(0.5, (strip[nth + 1]?.[0] ?? until) - at) }}
            title={`${nameOf(status)} since ${clock(since + 1_000 * at)}`}
          />
        ))}
      </span>
      <span class={`chip ${last && last[1] >= 0 ? toneClass(nameOf(last[1]), last[1]) : 'tone-quiet'}`}>
        {nameOf(last?.[1] ?? -1)}
      </span>
    </li>
  );
}

function Changes({ board }: { readonly board: BoardView }) {
  const { names, since, changes } = board;
  const text = filter.value.trim().toLowerCase();
  const by = chosen.value;
  const nameOf = (status: number): string => names[status] ?? '';
  const isShown = ([, key, kind, before, after]: ChangeView): boolean =>
    (by === undefined || nameOf(before) === by || nameOf(after) === by || changeKinds[kind] === by) &&
    (text === '' ||
      `${key} ${changeKinds[kind] ?? ''} ${nameOf(before)} ${nameOf(after)}`.toLowerCase().includes(text));
  const found = changes.filter(isShown);
  return (
    <div>
      <h3>
        <span class="grow">
          Changes{' '}
          <span class="muted">
            {text === '' && by === undefined
              ? `the last ${count(changes.length)}`
              : `${count(found.length)} of ${count(changes.length)}`}
          </span>
        </span>
        <input
          type="search"
          placeholder="Filter"
          aria-label="Filter the changes"
          value={filter.value}
          onInput={({ currentTarget }) => (filter.value = currentTarget.value)}
        />
      </h3>
      {found.length === 0 ? (
        <p class="empty">{changes.length === 0 ? 'No change yet.' : 'No change matches the filter.'}</p>
      ) : (
        <ul class="list changes" tabIndex={0} aria-label="Changes, the newest first">
          {found.slice(0, shown).map(([at, key, kind, before, after], nth) => (
            <li key={`${changes.length - nth}`}>
              <span class="muted">{clock(since + 1_000 * at)}</span>
              <span class="key" title={key}>
                {key}
              </span>
              <ChangeText kind={kind} before={nameOf(before)} after={nameOf(after)} names={names} />
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}

interface ChangeTextProps {
  readonly kind: number;
  readonly before: string;
  readonly after: string;
  readonly names: readonly string[];
}

function ChangeText({ kind, before, after, names }: ChangeTextProps) {
  const name = changeKinds[kind] ?? 'changed';
  const chip = (status: string) => <span class={`chip ${toneClass(status, names.indexOf(status))}`}>{status}</span>;
  if (name === 'changed' && before !== after && (before !== '' || after !== ''))
    return (
      <span>
        {before === '' ? 'no status' : chip(before)} → {after === '' ? 'no status' : chip(after)}
      </span>
    );
  const tone = kindTones[name];
  return (
    <span>
      <span class={`chip tone-${tone}`}>
        {signs[tone]} {name}
      </span>{' '}
      {name === 'removed' ? before : after}
    </span>
  );
}
