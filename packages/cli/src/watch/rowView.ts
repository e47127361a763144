import { hintFor } from '@sluice/core/kit';
import { type EvmStream, evmStreamSchema } from '@sluice/streams';
import { UsageError } from '../errors/errors.js';
import type { Colors } from '../terminal/colors.js';
import { fieldText, formatCount, formatNumber } from '../terminal/format.js';
import type { Column } from '../terminal/textTable.js';
import type { Phrase } from '../terminal/width.js';

/** How the rows of a watched listing are shown to people. */
export interface RowView<T> {
  readonly noun: readonly [one: string, many: string];
  readonly name: (row: T) => string;
  /** Shown after the name of a row that was added or removed. */
  readonly details: (row: T) => readonly Phrase[];
  /** Shown after the name of a changed row. Changed fields that are not `covered` follow. */
  readonly changeDetails: (
    before: T,
    after: T,
  ) => { readonly phrases: readonly Phrase[]; readonly covered: readonly string[] };
  /** Counts the rows at the start. */
  readonly summary: () => Summary<T>;
}

interface Summary<T> {
  readonly add: (row: T) => void;
  /** Shown after the number of rows. Begins with its punctuation. */
  readonly text: () => string;
}

/** A row of a listing, or of a table that has its columns. */
type Fields = Readonly<Record<string, unknown>>;

/** Both ends of an address are enough to recognize a wallet. */
const shortAddress = /^(0x[0-9a-f]{4})[0-9a-f]+([0-9a-f]{4})$/i;
const longestCollection = 30;

/** NFTs by name, with the collection, the wallet and the amount. */
export function holdingView({ dim }: Colors): RowView<Fields> {
  const where = (nft: Fields): Phrase[] => [
    { text: fieldText(nft['collection_name']), max: longestCollection },
    { text: fieldText(nft['owner_address']).replace(shortAddress, '$1…$2'), paint: dim },
  ];
  return {
    noun: ['NFT', 'NFTs'],
    name: (nft) => fieldText(nft['name']).trim() || fieldText(nft['token_data_id_hash']),
    details: (nft) => [{ text: `x ${fieldText(nft['amount']) || '?'}` }, ...where(nft)],
    changeDetails: (before, after) => {
      const [one, other] = [before, after].map((nft) => fieldText(nft['amount']));
      const hasOtherAmount = one !== other;
      const amounts = `x ${one || '?'} -> ${other || '?'}`;
      return {
        phrases: [{ text: hasOtherAmount ? amounts : 'changed', isKept: true }, ...where(after)],
        covered: hasOtherAmount ? ['amount'] : [],
      };
    },
    summary() {
      const collections = new Set<string>();
      return {
        add: (nft) => collections.add(fieldText(nft['collection_name'])),
        text: () => `, in ${formatCount(collections.size, 'collection')}`,
      };
    },
  };
}

const maxStatuses = 6;
const longestStatus = 24;

/** Streams by tag, with their status and its message. */
export function streamView(colors: Colors): RowView<Fields> {
  const status = (stream: Fields): Phrase => ({
    text: fieldText(stream['status']) || 'no status',
    paint: (text) => paintedStatus(text, colors),
    max: longestStatus,
    isKept: true,
  });
  const message = (stream: Fields): Phrase => ({ text: fieldText(stream['statusMessage']), paint: colors.dim });
  return {
    noun: ['stream', 'streams'],
    name: (stream) => fieldText(stream['tag']).trim() || fieldText(stream['id']),
    details: (stream) => [status(stream), message(stream)],
    changeDetails: (before, after) => {
      const hasNewStatus = before['status'] !== after['status'];
      if (!hasNewStatus && fieldText(before['statusMessage']) === fieldText(after['statusMessage']))
        return { phrases: [], covered: [] };
      const arrow = hasNewStatus
        ? [status(before), { text: '->', gap: 1, isKept: true }, { ...status(after), gap: 1 }]
        : [status(after)];
      return { phrases: [...arrow, message(after)], covered: ['status', 'statusMessage'] };
    },
    summary: countStatuses,
  };
}

/** @example ': 31 active, 6 error, 3 paused' */
function countStatuses(): Summary<Fields> {
  const counts = new Map<string, number>();
  return {
    add(stream) {
      const status = fieldText(stream['status']) || 'no status';
      counts.set(status, (counts.get(status) ?? 0) + 1);
    },
    text() {
      const sorted = [...counts].sort(([, a], [, b]) => b - a);
      const shown = sorted.slice(0, maxStatuses).map(([status, count]) => `${formatNumber(count)} ${status}`);
      return `: ${[...shown, ...(sorted.length > maxStatuses ? ['…'] : [])].join(', ')}`;
    },
  };
}

const maxFields = 3;
const longestField = 30;

/** Rows of any source: by their first column, with the next few columns. The columns are read when a row is shown. */
export function recordView(columns: () => readonly string[], { dim }: Colors): RowView<Fields> {
  return {
    noun: ['row', 'rows'],
    name: (row) => fieldText(row[columns()[0] ?? '']).trim() || '?',
    details: (row) =>
      columns()
        .slice(1, 1 + maxFields)
        .map((column) => ({ text: fieldText(row[column]), paint: dim, max: longestField })),
    changeDetails: () => ({ phrases: [], covered: [] }),
    summary: () => ({ add: () => undefined, text: () => '' }),
  };
}

/** A stream's status in its colour. An unknown status stays as it is. */
function paintedStatus(status: string, colors: Colors): string {
  switch (status) {
    case 'active':
      return colors.green(status);
    case 'paused':
      return colors.yellow(status);
    case 'error':
    case 'terminated':
      return colors.red(status);
    default:
      return status;
  }
}

/** The length of a UUID: a shortened one can't be copied. */
const wholeId = 36;

/** The columns of a table of streams, the most important first. */
export function streamColumns(colors: Colors): readonly Column<EvmStream>[] {
  return [
    { title: 'id', min: wholeId, cell: (stream) => String(stream.id) },
    {
      title: 'status',
      min: 10,
      cell: (stream) => fieldText(stream.status),
      paint: (status) => paintedStatus(status, colors),
    },
    { title: 'tag', min: 12, cell: (stream) => fieldText(stream.tag) || fieldText(stream.description) },
    { title: 'chains', min: 8, cell: (stream) => fieldText(stream.chainIds) },
    { title: 'message', min: 16, cell: (stream) => fieldText(stream.statusMessage), paint: colors.dim },
    { title: 'webhook', min: 20, cell: (stream) => fieldText(stream.webhookUrl), paint: colors.dim },
  ];
}

/** The columns of a table of these fields. @throws UsageError if one is unknown. */
export function fieldColumns(fields: readonly string[]): readonly Column<EvmStream>[] {
  const known = evmStreamSchema.columns;
  const unknown = fields.find((field) => !known.includes(field));
  if (unknown !== undefined)
    throw new UsageError(`There is no column ${JSON.stringify(unknown)}. ${hintFor(unknown, known)}`);
  return fields.map((field) => ({
    title: field,
    min: field === 'id' ? wholeId : 8,
    cell: (stream) => fieldText(stream[field]),
  }));
}

/** The value at a path of a row, e.g. `stats.seen`, which may also be the name of a field. */
export function valueAt(row: unknown, path: string): unknown {
  if (typeof row !== 'object' || row === null) return undefined;
  if (Object.hasOwn(row, path)) return Reflect.get(row, path);
  const dot = path.indexOf('.');
  if (dot < 0) return undefined;
  const part: unknown = Object.hasOwn(row, path.slice(0, dot)) ? Reflect.get(row, path.slice(0, dot)) : undefined;
  return valueAt(part, path.slice(dot + 1));
}
