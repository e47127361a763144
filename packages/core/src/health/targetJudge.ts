import type { DeliveryEvent, OutageEvent, SinkEvent } from '../rows/source/sourceEvent.js';
import { type Failing, failing, isLongSilence, usualWait } from './failing.js';
import { type Backlog, causeOf, type RunHealth } from './runHealth.js';

/** Calls whose times are remembered. */
const maxCalls = 20;
/** Ms over which it is averaged how long a delivery takes. */
const paceMemory = 60_000;
/** One refused record may be at fault itself; this many in a row are not. */
const manyRefusals = 3;

/** Folds what is told of a target into whether it is waited for. */
export class TargetJudge {
  #failing: Failing | undefined;
  /** Since when deliveries are under way without one that was accepted. */
  #deliveringSince: number | undefined;
  /** Deliveries wait for a rate limit, which is not the target's silence; and until when they did so last. */
  #isQueued = false;
  #queuedUntil = -Infinity;
  /** Records that are not settled. */
  #waiting = 0;
  /** Records that were accepted, and ms in which some waited: what is older counts less. */
  #taken = { records: 0, ms: 0 };
  /** Deliveries that were refused since one was accepted. */
  #refusals = 0;
  /** Calls of the sink that have not returned, in the order in which they began: a flush stores its state. */
  readonly #calls: string[] = [];
  /** Since when there are calls, and no delivery was accepted. */
  #calledAt = 0;
  /** The longest silence, in ms, since there are calls. */
  #quiet = 0;
  /** Ms that the last one of each name was silent. */
  readonly #callTimes = new Map<string, number>();

  /** Whether calls have not returned, or more waits than it takes in a second. */
  get isBusy(): boolean {
    return this.#calls.length > 0 || this.backlog !== undefined;
  }

  /** Takes an event into account. `now`: ms, by a monotonic clock. */
  follow(event: SinkEvent | OutageEvent | DeliveryEvent, now: number): void {
    if (event.type === 'sink') this.#followCall(event, now);
    else if (event.type === 'outage') this.#followOutage(event, now);
    else this.#followDelivery(event, now);
  }

  #followCall({ call, took }: SinkEvent, now: number): void {
    if (took === undefined) {
      if (this.#calls.length === 0) {
        this.#calledAt = now;
        this.#quiet = 0;
      }
      this.#calls.push(call);
      return;
    }
    const place = this.#calls.lastIndexOf(call);
    if (place >= 0) this.#calls.splice(place, 1);
    this.#endSilence(call, now);
  }

  /** Whoever was slow may be so again. */
  #endSilence(call: string, now: number): void {
    this.#quiet = Math.max(this.#quiet, now - Math.max(this.#calledAt, this.#queuedUntil));
    if (this.#callTimes.has(call) || this.#callTimes.size < maxCalls) this.#callTimes.set(call, this.#quiet);
  }

  #followOutage({ cause, for: lasted = 0 }: OutageEvent, now: number): void {
    this.#failing = cause === undefined ? undefined : { since: now - lasted, cause };
  }

  #followDelivery({ step, error, waiting, records = 1 }: DeliveryEvent, now: number): void {
    this.#waiting = waiting;
    if (step === 'queued') this.#isQueued = true;
    if (step === 'sent') {
      this.#deliveringSince ??= now;
      if (this.#isQueued) this.#queuedUntil = now;
      this.#isQueued = false;
    }
    if (step === 'refused') this.#refusals += 1;
    const isLost = step === 'retry' || step === 'failed' || (step === 'refused' && this.#refusals >= manyRefusals);
    if (isLost && error) {
      const since = Math.max(this.#deliveringSince ?? now, this.#queuedUntil);
      this.#failing = failing(this.#failing, since, causeOf(error));
    }
    if (step === 'refused' && !isLost) this.#failing = undefined;
    // An outage says nothing of its pace.
    if (step === 'accepted' && !this.#failing) this.#countTaken(records, now);
    // The next one may be sent hours later.
    if (waiting === 0) this.#deliveringSince = undefined;
    if (step !== 'accepted') return;
    this.#failing = undefined;
    const call = this.#calls.at(-1);
    if (call !== undefined) this.#endSilence(call, now);
    this.#calledAt = now;
    this.#refusals = 0;
    this.#deliveringSince = waiting > 0 ? now : undefined;
  }

  #countTaken(records: number, now: number): void {
    const took = now - (this.#deliveringSince ?? now);
    const weight = Math.exp(-took / paceMemory);
    this.#taken = { records: this.#taken.records * weight + records, ms: this.#taken.ms * weight + took };
  }

  /** What waits for the target, if it takes longer than usual to take it. */
  get backlog(): Backlog | undefined {
    const each = this.#taken.records > 0 ? this.#taken.ms / this.#taken.records : 0;
    return this.#waiting * each >= usualWait ? { waiting: this.#waiting, each } : undefined;
  }

  /** `undefined` if nothing waits for the target. */
  health(now: number): RunHealth | undefined {
    if (this.#failing && now - this.#failing.since >= usualWait)
      return { kind: 'target', since: now - this.#failing.since, cause: this.#failing.cause };
    if (this.#isQueued) return undefined;
    const since = now - Math.max(this.#calledAt, this.#queuedUntil);
    const call = this.#calls.at(-1);
    if (call !== undefined && since >= usualWait) {
      const isSilent = isLongSilence(since, this.#callTimes.get(call));
      return { kind: 'target', since, cause: isSilent ? `${call} has not ended` : undefined };
    }
    // Polls go on meanwhile. A target that is slow sets the pace; one that takes nothing for much longer hangs.
    const delivering = now - Math.max(this.#deliveringSince ?? now, this.#queuedUntil);
    const each = this.backlog?.each;
    if (delivering < Math.max(usualWait, 3 * (each ?? 0))) return undefined;
    return { kind: 'target', since: delivering, cause: isLongSilence(delivering, each) ? 'no response' : undefined };
  }
}
