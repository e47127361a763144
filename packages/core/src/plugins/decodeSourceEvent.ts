import { reportOf } from '../errorReport.js';
import type { SourceEvent } from '../rows/source/sourceEvent.js';
import { isCount, isRecord } from '../values.js';

type Check = (value: unknown) => boolean;

const isText: Check = (value) => typeof value === 'string';
const isTextOrNull: Check = (value) => value === null || isText(value);
const isCountOrNone: Check = (value) => value === undefined || isCount(value);
const isMsOrNone: Check = (value) => value === undefined || (typeof value === 'number' && value >= 0);
const isOneOf =
  (...known: readonly unknown[]): Check =>
  (value) =>
    known.includes(value);

/** The fields of events, in their order, and what they must be. */
const fieldsOf: Readonly<Record<SourceEvent['type'], Readonly<Record<string, Check>>>> = {
  page: { source: isText, partition: isCount, page: isCount, rows: isCount },
  commit: {
    source: isText,
    sink: isText,
    rows: isCount,
    pages: isCount,
    isSealed: /* @__PURE__ */ isOneOf(true, false),
  },
  change: {
    source: isText,
    key: isText,
    kind: /* @__PURE__ */ isOneOf('initial', 'added', 'changed', 'removed', 'known'),
    before: isTextOrNull,
    after: isTextOrNull,
    observedAt: isText,
  },
  due: {
    source: isText,
    key: isText,
    rule: isText,
    kind: /* @__PURE__ */ isOneOf('due', 'resolved', 'known'),
    earliest: isTextOrNull,
    latest: isText,
    times: isCount,
    why: /* @__PURE__ */ isOneOf(undefined, 'changed', 'removed', 'rule'),
    actBefore: (value) => value === undefined || isTextOrNull(value),
    observedAt: isText,
  },
  sink: {
    source: isText,
    sink: isText,
    call: isText,
    took: isMsOrNone,
  },
  delivery: {
    source: isText,
    sink: isText,
    step: /* @__PURE__ */ isOneOf('queued', 'sent', 'retry', 'accepted', 'refused', 'failed', 'dead-letter'),
    waiting: isCount,
    records: isCountOrNone,
    status: isCountOrNone,
    error: () => true,
  },
  outage: {
    source: isText,
    sink: isText,
    cause: (value) => value === undefined || isText(value),
    for: isMsOrNone,
    left: isMsOrNone,
    error: () => true,
  },
  error: { of: /* @__PURE__ */ isOneOf('walk', 'watch', 'export'), name: isText, error: () => true },
};

/** Copies the fields of a source's event; `undefined` if it is not one. A plugin may pass anything. */
export function decodeSourceEvent(value: unknown): SourceEvent | undefined {
  try {
    if (!isRecord(value)) return undefined;
    const { type, ...given } = value;
    if (typeof type !== 'string' || !Object.hasOwn(fieldsOf, type)) return undefined;
    const event: Record<string, unknown> = { type };
    for (const [name, isValid] of Object.entries(fieldsOf[type as SourceEvent['type']])) {
      const field = given[name];
      if (!isValid(field)) return undefined;
      if (field === undefined && type !== 'error') continue;
      event[name] = name === 'error' ? reportOf(field) : field;
    }
    if (type === 'page' && isCount(given['total'])) event['total'] = given['total'];
    if (type === 'page' && given['endsPartition'] === true) event['endsPartition'] = true;
    if ((type === 'change' || type === 'due') && isText(given['name'])) event['name'] = given['name'];
    return event as unknown as SourceEvent;
  } catch {
    return undefined;
  }
}
