import { signal } from '@preact/signals';
import { changeKinds, type BoardView, type ChangeView, type RowView } from '../snapshot.js';
import { DuePanel } from './duePanel.js';
import { CopyButton, Panel } from './panel.js';
import { ago, clock, count, counted } from './format.js';
import { statusTone } from '@sluice/core/health';
import { signs, type Tone, toneClass } from './words.js';

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
          <DuePanel due={board.due} total={board.dueTotal} now={now} />
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
          <span class="muted">The command:</span> <code tabIndex={0}>{command}</code>
          <CopyButton text={command} />
        </p>
      )}
    </Panel>
  );
}

function Cards({ board }: { readonly board: BoardView }) {
  const { names, counts, kinds, total } = board;
  const without = counts[names.length] ?? 0;
  const cards: (readonly [name: string, value: number, tone: string, filter: string])[] =
    names.length > 0
      ? [
          ...names
            .map((name, nth) => [name, counts[nth] ?? 0, toneClass(name), name] as const)
            .sort(([one], [other]) => rankOf(one) - rankOf(other) || one.localeCompare(other)),
          ...(without > 0 ? [['no status', without, 'tone-quiet', ''] as const] : []),
        ]
      : [
          ['watched', total, 'tone-quiet', ''] as const,
          ...(['added', 'changed', 'removed'] as const).map(
            (kind) => [kind, kinds[changeKinds.indexOf(kind)] ?? 0, `tone-${kindTones[kind]}`, kind] as const,
          ),
        ];
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

/** Errors first, then by name, so that each card has its place in every run. */
function rankOf(status: string): number {
  const rank = (['bad', 'warn', 'good'] as const).findIndex((tone) => tone === statusTone(status));
  return rank < 0 ? 3 : rank;
}

const kindTones = {
  initial: 'quiet',
  known: 'quiet',
  added: 'good',
  changed: 'busy',
  removed: 'warn',
} as const satisfies Record<(typeof changeKinds)[number], Tone>;

function Rows({ board, now }: { readonly board: BoardView; readonly now: number }) {
  const { rows, total, names, gaps, since } = board;
  const gap = gaps.find(([, to]) => to === null);
  const status = chosen.value;
  const visible =
    status === undefined || !names.includes(status) ? rows : rows.filter((row) => names[lastStatus(row)] === status);
  return (
    <div>
      <h3>
        Rows{' '}
        <span class="muted">
          {visible.length < total
            ? `${visible.length} of ${count(total)}: errors, then what changed last`
            : counted(total, 'row')}
          {gap ? `, as of ${clock(since + 1_000 * gap[0])}` : ''}
        </span>
      </h3>
      <ul class="list rows" tabIndex={0} aria-label="Rows with their status over time">
        {visible.map((row) => (
          <Row key={`${row[1]} ${row[0]}`} row={row} board={board} now={now} />
        ))}
      </ul>
    </div>
  );
}

function lastStatus([, , ...strip]: RowView): number {
  return strip.at(-1)?.[1] ?? -1;
}

function Row({ row, board, now }: { readonly row: RowView; readonly board: BoardView; readonly now: number }) {
  const [name, key, ...strip] = row;
  const { names, since, gaps } = board;
  const until = Math.max(1, (now - since) / 1_000);
  const nameOf = (status: number): string => (status === gone ? 'gone' : (names[status] ?? 'no status'));
  const last = strip.at(-1);
  const spoken = strip.map(([at, status]) => `${nameOf(status)} ${ago(since + 1_000 * at, now)}`).join(', then ');
  return (
    <li class={last?.[1] === gone ? 'gone' : ''}>
      <span class="key" title={key === '' ? name : `${name}, ${key}`}>
        {name}
      </span>
      <span class="strip" role="img" aria-label={spoken}>
        {strip.map(([at, status], nth) => (
          <i
            key={nth}
            class={status < 0 ? 'tone-quiet' : toneClass(nameOf(status))}
            style={placeOf(at, strip[nth + 1]?.[0] ?? until, until)}
            title={`${nameOf(status)} since ${clock(since + 1_000 * at)}`}
          />
        ))}
        {gaps.map(([from, to]) => (
          <i
            key={from}
            class="gap"
            style={to === null ? { left: placeOf(from, until, until).left, right: 0 } : placeOf(from, to, until)}
            title="Nothing was known"
          />
        ))}
      </span>
      <span class={`chip ${last && last[1] >= 0 ? toneClass(nameOf(last[1])) : 'tone-quiet'}`}>
        {nameOf(last?.[1] ?? -1)}
      </span>
    </li>
  );
}

/** Where a time is on a strip. */
function placeOf(from: number, to: number, until: number): { left: string; width: string } {
  return { left: `${(100 * from) / until}%`, width: `${(100 * Math.max(0, to - from)) / until}%` };
}

function Changes({ board }: { readonly board: BoardView }) {
  const { names, since, changes } = board;
  const text = filter.value.trim().toLowerCase();
  const by = chosen.value;
  const nameOf = (status: number): string => names[status] ?? '';
  const isShown = ([, name, kind, before, after]: ChangeView): boolean =>
    (by === undefined || nameOf(before) === by || nameOf(after) === by || changeKinds[kind] === by) &&
    (text === '' ||
      `${name} ${changeKinds[kind] ?? ''} ${nameOf(before)} ${nameOf(after)}`.toLowerCase().includes(text));
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
          {found.slice(0, shown).map(([at, name, kind, before, after], nth) => (
            <li key={`${changes.length - nth}`}>
              <span class="muted">{clock(since + 1_000 * at)}</span>
              <span class="key" title={name}>
                {name}
              </span>
              <ChangeText kind={kind} before={nameOf(before)} after={nameOf(after)} />
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
}

function ChangeText({ kind, before, after }: ChangeTextProps) {
  const name = changeKinds[kind] ?? 'changed';
  const chip = (status: string) => <span class={`chip ${toneClass(status)}`}>{status}</span>;
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
