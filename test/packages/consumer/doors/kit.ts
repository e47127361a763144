// What a package of sinks, stores and limiters exports, and imports from nothing but the door for them.
import {
  checkCount,
  checkRow,
  chooseColumns,
  columnValues,
  costsOf,
  createSender,
  decodeCheckpoint,
  differingFields,
  eventOfChange,
  fieldReader,
  findGap,
  guardStore,
  isChange,
  isDue,
  joinTotals,
  newPermit,
  pickGap,
  rateUse,
  rateWindows,
  recordState,
  Secrets,
  targetRetries,
  WaitQueue,
  type AcquireOptions,
  type Checkpoint,
  type ClaimVerdict,
  type Claim,
  type Limiter,
  type Permit,
  type SinkContext,
} from '@sluice/core/kit';

export const sender = createSender({ url: 'https://tea.example', onEvent: ({ type }) => type });
export const { send } = sender;
export const sent = async () => sender.send({ body: '{}', headers: () => ({}), signal: AbortSignal.timeout(1) });
export const onlyChanges = (row: unknown) => (isChange(row) || isDue(row) ? row : undefined);
export const queue = new WaitQueue<Permit>(() => undefined);
export const waiting = queue.first;
export const permit = newPermit({ mayStart: () => true, onStart: () => undefined, onRelease: () => undefined });
export const limiter = {
  acquire: (request: AcquireOptions) => queue.wait(request),
  pause: () => undefined,
  state: { queued: 0, running: 0, pausedFor: 0 },
} satisfies Limiter;
export const windows = rateWindows([{ requests: 1, per: 1_000 }]);
export const use = rateUse(windows, costsOf(windows, 'tea'));
export const secrets = new Secrets();

export const lists = { open: async () => async () => undefined, async *read() {}, write: async () => undefined };
export const store = recordState(lists);
export const guarded = (options: Parameters<typeof guardStore>[2]) => guardStore(store, 'tea', options);
export const { lock } = store;
export const checkpoint = (value: unknown) => decodeCheckpoint(value);
export const positionOf = ({ position }: Checkpoint) => position;
export const retry = targetRetries({ retry: { for: 1_000 } });
export const gap = findGap(joinTotals(undefined, { partitions: 1, short: 0, total: 0, listed: 0 }, undefined));
export const picked = pickGap({});
export const contextOf = (context: SinkContext<object>) => ({ ...context });
export const claimOf = (claim: Claim<object>, verdict: ClaimVerdict) => ({ claim, verdict });
export const fields = differingFields({ a: 1 }, { a: 2 }, new Set());
export const eventOf = (change: Parameters<typeof eventOfChange>[0]) => eventOfChange(change);
export const check = checkCount;
export const columns = chooseColumns(['id'], undefined, 'tea list');
export const numbers = columnValues.number;
export const reader = fieldReader('id');
export const row = checkRow;
