import {
  type Adapter,
  AdapterFault,
  type AttemptResponse,
  type AttemptRequest,
} from '../../packages/core/src/http/adapter/adapter.js';
import type { Random } from '../../test/kit/random.js';
import { arrivalOf, PartReader } from './parts.js';
import type { Life, Schedule } from './schedule.js';
import { epoch } from './platform.js';
import { isRepeated } from './repeats.js';
import type { Answered, Service } from './service.js';

/** What goes wrong on the way, as shares of all requests; and when nothing arrives at all. */
export interface NetworkFaults {
  /** The connection is reset before the request arrives. */
  readonly lost: number;
  /** The connection is reset when the service has answered, before the answer arrives. */
  readonly unanswered: number;
  /** The body ends before its end. */
  readonly cut: number;
  /** The answer takes about as long as its deadline. */
  readonly slow: number;
  /** The body of an answer to GET arrives in parts, some of which take longer than an attempt may. */
  readonly parts: number;
  /** Of the bodies in parts: the connection is reset between them. */
  readonly broken: number;
  /** 503, with and without Retry-After. */
  readonly busy: number;
  /** 429, with every kind of Retry-After. */
  readonly limited: number;
  /** The service closes a connection that idled, as the next request goes out over it. */
  readonly stale: number;
  /** From when to when, in ms, nobody can be connected to. */
  readonly outages: readonly (readonly [from: number, to: number])[];
  /** Ms that opening a connection takes at most, before the request is written. Absent: it is written at once. */
  readonly opening?: number;
  /** The process is busy before it writes the request. */
  readonly busyWrites?: number;
}

/** What a process sends, for whoever watches over the limit. */
export interface Sent {
  readonly at: number;
  readonly life: Life;
  /** Ms from the beginning before which the service wanted nothing, as far as the process was told. */
  readonly shutUntil: number;
  /** Requests of this process under way, this one included. */
  readonly underWay: number;
  /** Which request it is, however often it is tried. */
  readonly name: string;
  /** Over a new connection. */
  readonly isFresh: boolean;
  readonly request: AttemptRequest;
}

/** Watches what goes over the wires. */
export interface Wiretap {
  /** A process wants to send a request: it may have to open a connection first. */
  readonly onSend: (url: URL, sent: Sent) => void;
  /** A request is written. */
  readonly onWrite: (url: URL, sent: Sent) => void;
  /** A request arrives. */
  readonly onArrival?: (url: URL, life: Life) => void;
  /** A process has got an answer. */
  readonly onAnswer: (url: URL, answer: Answered) => void;
  /** A request is over: with the status of its answer, or with why there is none. */
  readonly onEnd: (url: URL, name: string, outcome: number | AdapterFault['kind'], took: number) => void;
}

/** The wires between the processes and the services. */
export class Network {
  readonly #schedule: Schedule;
  readonly #random: Random;
  readonly #faults: NetworkFaults;
  readonly #services: ReadonlyMap<string, Service>;
  readonly #tap: Wiretap;
  /** Ms to each host and back, most of the time. */
  readonly #distance: number;

  constructor(
    world: { schedule: Schedule; random: Random; faults: NetworkFaults; tap: Wiretap },
    services: ReadonlyMap<string, Service>,
  ) {
    this.#schedule = world.schedule;
    this.#random = world.random;
    this.#faults = world.faults;
    this.#tap = world.tap;
    this.#services = services;
    this.#distance = 3 + world.random.next() * 40;
  }

  /** The adapter of a process. */
  adapterOf(life: Life, connectTimeout = 10_000): Adapter {
    let shutUntil = -Infinity;
    let underWay = 0;
    let idleSince: number | undefined;
    const schedule = this.#schedule;
    return {
      announcesWrites: true,
      send: (request) =>
        new Promise<AttemptResponse>((resolve, reject) => {
          if (!life.isAlive) return;
          const url = new URL(request.url);
          underWay += 1;
          const began = schedule.now;
          const idled = idleSince === undefined ? undefined : schedule.now - idleSince;
          const name = `${url.href} ${request.headers['webhook-id'] ?? ''}`;
          const isFresh = request.isFresh === true;
          const sent = { at: began, life, shutUntil, underWay, name, isFresh, request };
          this.#tap.onSend(url, sent);
          schedule.note(`send ${nameOf(request)}`, life);
          let isOver = false;
          const end = (event: string, outcome: number | AdapterFault['kind'], settle: () => void): void => {
            if (isOver) return;
            isOver = true;
            this.#tap.onEnd(url, name, outcome, schedule.now - began);
            underWay -= 1;
            idleSince = schedule.now;
            request.signal?.removeEventListener('abort', onAbort);
            schedule.note(`${event} ${nameOf(request)}`, life);
            settle();
          };
          const fail = (kind: AdapterFault['kind'], code?: string): void => {
            end(code ?? kind, kind, () => {
              reject(new AdapterFault(kind, code));
            });
          };
          const onAbort = (): void => {
            fail('network');
          };
          request.signal?.addEventListener('abort', onAbort, { once: true });
          const write = (): boolean => {
            if (isOver) return false;
            if (request.onWrite?.() === false) {
              fail('outdated');
              return false;
            }
            this.#tap.onWrite(url, { ...sent, at: schedule.now, shutUntil });
            return true;
          };
          const carry = (): void =>
            this.#carry(request, { life, idled, connectTimeout, write }, fail, (answer, text) => {
              const { status, headers = {} } = answer;
              const settle = (): void => {
                // Who delivers webhooks rests whenever it is told for how long (W4).
                if (status === 429 || request.headers['webhook-id'] !== undefined)
                  shutUntil = Math.max(shutUntil, schedule.now + pauseOf(answer));
                this.#tap.onAnswer(url, answer);
                resolve({ status, headers: { 'content-type': 'application/json', ...headers }, text });
              };
              end(`answer ${status}${isRepeated(answer) ? ' again' : ''}`, status, settle);
            });
          const delay = this.#delayOfWrite(idled === undefined || isFresh);
          if (delay > 0) schedule.after(delay, 'net opened', carry, life);
          else carry();
        }),
      close: () => Promise.resolve(),
    };
  }

  /** Ms until a request can be written: a connection is opened, or the process is busy. */
  #delayOfWrite(isCold: boolean): number {
    const { opening, busyWrites = 0 } = this.#faults;
    if (opening === undefined) return 0;
    const busy = this.#random.chance(busyWrites) ? this.#random.next() * 600 : 0;
    return busy + (isCold ? this.#random.next() * opening : 0);
  }

  /** Carries a request to its service and the answer back, or not. */
  #carry(
    request: AttemptRequest,
    from: {
      readonly life: Life;
      readonly idled: number | undefined;
      readonly connectTimeout: number;
      readonly write: () => boolean;
    },
    fail: (kind: AdapterFault['kind'], code?: string) => void,
    answer: (answer: Answered, text: string) => void,
  ): void {
    const { life, idled, connectTimeout, write } = from;
    const schedule = this.#schedule;
    const random = this.#random;
    const faults = this.#faults;
    const isCold = idled === undefined || request.isFresh === true;
    // Where nothing says how long connections take to open, the first requests are only slower.
    const isSlower = isCold && faults.opening === undefined;
    const way = this.#distance / 2 + random.next() * 12 + (isSlower ? random.next() * 60 : 0);
    const fate = random.next();
    const arrivesAt = schedule.now + way;
    if (faults.outages.some(([start, end]) => arrivesAt >= start && arrivesAt < end)) {
      const isSilent = random.chance(0.3);
      // What stands before the service may be up.
      const refusal = random.chance(0.3) ? this.#busy(request) : undefined;
      if (refusal && !write()) return;
      schedule.after(
        isSilent && !refusal ? connectTimeout : way,
        'net',
        () => {
          if (refusal) answer(refusal, refusal.body);
          else if (isSilent) fail('connect-timeout');
          else fail('network', 'ECONNREFUSED');
        },
        life,
      );
      return;
    }
    if (!write()) return;
    if (!isCold && idled > 1_000 && random.chance(faults.stale)) {
      schedule.after(
        way,
        'net',
        () => {
          fail('stale', 'ECONNRESET');
        },
        life,
      );
      return;
    }
    const { host } = new URL(request.url);
    const service = this.#services.get(host);
    if (!service) throw new Error(`Nobody serves ${host} in this world.`);
    let left = fate;
    // Each request has one fate: what is cut or refused is not slow besides, or nobody would ever wait for it.
    const isFate = (share: number): boolean => left >= 0 && (left -= share) < 0;
    if (isFate(faults.lost)) {
      schedule.after(
        way,
        'net',
        () => {
          fail('network', 'ECONNRESET');
        },
        life,
      );
      return;
    }
    const isUnanswered = isFate(faults.unanswered);
    const isCut = isFate(faults.cut);
    const refusal = isFate(faults.busy)
      ? this.#busy(request)
      : isFate(faults.limited)
        ? this.#limited(request)
        : undefined;
    const isSlow = isFate(faults.slow);
    const isInParts = request.method === 'GET' && isFate(faults.parts);
    const wait = isSlow ? random.next() : 0;
    // Some never answer, and do not close the connection either.
    const isSilent = wait > 0.5;
    const work = isSlow ? 29_960 + wait * 160 : random.skewed(2, 400);
    // The service does its work whether the process is alive then or not.
    schedule.after(
      way,
      `arrival ${nameOf(request)}`,
      () => {
        const { url, method, headers, body = '' } = request;
        this.#tap.onArrival?.(new URL(url), life);
        const answered = refusal ?? service({ url: new URL(url), method, headers, body });
        if (isSilent) return;
        schedule.after(
          work + this.#distance / 2,
          'net',
          () => {
            if (isUnanswered) fail('network', 'ECONNRESET');
            else if (isCut) fail('cut-body');
            else if (isInParts) this.#deliver(answered, request, life, fail, answer);
            else answer(answered, answered.body);
          },
          life,
        );
      },
      null,
    );
  }

  /** Lets the body of an answer arrive in parts. */
  #deliver(
    answered: Answered,
    request: AttemptRequest,
    life: Life,
    fail: (kind: AdapterFault['kind'], code?: string) => void,
    answer: (answer: Answered, text: string) => void,
  ): void {
    const { parts, isBroken } = arrivalOf(answered.body, this.#random, this.#faults.broken);
    const reader = new PartReader(answered, request.signal);
    let wait = 0;
    for (const [nth, { after, bytes }] of parts.entries()) {
      wait += after;
      const part = `net part ${nth + 1} ${nameOf(request)}`;
      this.#schedule.after(wait, part, () => reader.take(bytes), life);
    }
    this.#schedule.after(wait, 'net', () => reader.end(isBroken), life, Infinity);
    reader.text().then(
      (text) => answer(answered, text),
      (error: unknown) => {
        if (error instanceof AdapterFault) fail(error.kind, error.platformCode);
      },
    );
  }

  #busy(request: AttemptRequest): Answered {
    const body = echoOf(request, 'busy');
    return { status: 503, body, ...(this.#random.chance(0.3) && { headers: { 'retry-after': '1' } }) };
  }

  #limited(request: AttemptRequest): Answered {
    const seconds = this.#random.chance(0.1) ? this.#random.pick([0.7, 2.5, 25, 50]) : this.#random.int(0, 4);
    // As RFC 9110 has dates, by the service's clock: which is the world's. Most services tell it.
    const dateIn = (ms: number): string => new Date(epoch + this.#schedule.now + ms).toUTCString();
    const date = seconds % 2 === 1 ? { date: dateIn(0) } : {};
    const after = this.#random.pick([
      ...([String(seconds), dateIn(seconds * 1_000), dateIn(-5_000), 'soon', undefined] as const),
    ]);
    return {
      status: 429,
      body: echoOf(request, 'slow down'),
      ...(after !== undefined && { headers: { 'retry-after': after, ...date } }),
    };
  }
}

/** What careless services say: they repeat what they were sent. */
function echoOf({ headers }: AttemptRequest, text: string): string {
  return `${text}: ${headers['x-api-key'] ?? 'nobody'} ${headers['authorization'] ?? ''}`;
}

/** Ms that an answer asks for, where nobody has to ask a clock of their own. */
export function pauseOf({ headers: { 'retry-after': after = '', date = '' } = {} }: Answered): number {
  if (/^\d+(\.\d+)?$/.test(after)) return Number(after) * 1_000;
  const ms = Date.parse(after) - Date.parse(date);
  return Number.isNaN(ms) ? 0 : ms;
}

/** A request as the trace shows it. */
function nameOf({ method, url }: AttemptRequest): string {
  const { host, pathname, searchParams } = new URL(url);
  const cursor = searchParams.get('cursor');
  const owners = searchParams.getAll('owner_addresses[]').map((owner) => owner.slice(-4));
  return [method, host + pathname, ...(owners.length > 0 ? [owners.join()] : []), ...(cursor ? [cursor] : [])].join(
    ' ',
  );
}
