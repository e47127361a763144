import { Writable } from 'node:stream';
import type { PostgresClient, PostgresDriver, PostgresResult } from '../../packages/tables/src/postgres/connection.js';
import { postgresDatabase } from '../../packages/tables/src/postgres/database.js';
import type { Database } from '../../packages/tables/src/sql/database.js';
import {
  ServerError,
  type ServerSession,
  SimulatedPostgres,
  type OnCommit,
} from '../../packages/tables/test/simulatedPostgres.js';
import type { Random } from '../../test/kit/random.js';
import type { Cancel, Life, Schedule } from './schedule.js';

/** What goes wrong with a server of PostgreSQL and the way to it. */
export interface StoreModel {
  /** The share of statements whose connection is cut before they arrive. */
  readonly cut: number;
  /** The share of statements that are carried out, and whose connection is cut before their response. */
  readonly unanswered: number;
  /** The share of statements that arrive although their client was told that the connection is cut. */
  readonly late: number;
  /** The share of COMMITs, of which half are carried out, whose response is lost. */
  readonly lostCommits: number;
  /** The share of statements that fail as a deadlock or a conflict of transactions. */
  readonly conflicts: number;
  /** The share of lost connections that the server does not notice for a while: they keep their locks. */
  readonly unnoticed: number;
  /** Ms that a statement waits for a lock; `null`: for ever. */
  readonly lockTimeout: number | null;
  /** When the server crashes, and for how many ms it is down. */
  readonly crashes: readonly (readonly [at: number, down: number])[];
  /** Behind a pooler of transactions, the lock of a session keeps nobody off. */
  readonly hasPooler: boolean;
  /** Whether each process ends the connection that holds the table. */
  readonly breakLock: boolean;
}

const quietStore: Omit<StoreModel, 'hasPooler' | 'breakLock'> = {
  cut: 0,
  unanswered: 0,
  late: 0,
  lostCommits: 0,
  conflicts: 0,
  unnoticed: 0,
  lockTimeout: null,
  crashes: [],
};

/** Connections in a row, besides the one that was lost, after which a run gives up. */
const maxAttempts = 7;

/** Reasons for which a process may fail, since the store gave them. */
interface Reasons {
  /** Connections that it asked for. */
  clients: number;
  /** Its first connection was cut or refused before its first transaction of the ledger. */
  neverConnected: boolean;
  /** Connections since the last transaction. */
  clientsInARow: number;
  isGivenUp: boolean;
  /** When its connection was lost, until its next COMMIT; and how many ms were lost so, all in all. */
  lostAt: number | undefined;
  lost: number;
  lockTimedOut: boolean;
  /** Another session held the table's lock. */
  lockRefused: boolean;
}

/** A server that the processes of a world connect to. */
export class Store {
  readonly #schedule: Schedule;
  readonly #random: Random;
  readonly #model: StoreModel;
  readonly #server: SimulatedPostgres;
  readonly #clients = new Map<Life, Set<SimulatedClient>>();
  readonly #reasons = new Map<Life, Reasons>();
  #isQuiet = false;
  #upAt = 0;

  constructor(model: StoreModel, { schedule, random }: { schedule: Schedule; random: Random }, onCommit: OnCommit) {
    this.#model = model;
    this.#schedule = schedule;
    this.#random = random;
    this.#server = new SimulatedPostgres(onCommit);
    for (const [at, down] of model.crashes) schedule.after(at, 'the server crashes', () => this.#crash(down), null);
  }

  /** Runs a query as a reader does. */
  read(sql: string): ReturnType<SimulatedPostgres['read']> {
    return this.#server.read(sql);
  }

  /** The database as a process finds it, for one export. */
  databaseOf(life: Life): Database {
    Object.assign(this.#reasonsOf(life), { clients: 0, clientsInARow: 0 });
    const { breakLock } = this.#model;
    const place = { url: 'postgres://tester@db.world/rows', breakLock };
    return postgresDatabase(place, { load: () => Promise.resolve(this.#driverOf(life)) }).database;
  }

  /** Nothing disturbs it from now on. */
  quieten(): void {
    if (this.#isQuiet) return;
    this.#isQuiet = true;
    this.#upAt = 0;
    for (const session of this.#server.sessions) session.end();
  }

  /** What a process that ended still has. */
  openOf(life: Life): number {
    return [...(this.#clients.get(life) ?? [])].filter(({ isOpen }) => isOpen).length;
  }

  /** The machine of a process notices that it is dead, or has no power: then the server hears nothing. */
  killed(life: Life): void {
    for (const client of this.#clients.get(life) ?? []) client.abandon();
  }

  /** For how many ms a process could commit nothing, since its connection was lost. */
  lostFor(life: Life): number {
    const { lost, lostAt } = this.#reasonsOf(life);
    return lost + (lostAt === undefined ? 0 : this.#schedule.now - lostAt);
  }

  /** Whether the store is a reason for an error of a process. */
  explains(life: Life, code: string): boolean {
    const reasons = this.#reasonsOf(life);
    // Once it has waited in vain for a transaction of its own whose COMMIT is late, that looks like another run's.
    if (code === 'lock') return reasons.lockRefused || reasons.lockTimedOut;
    return reasons.neverConnected || reasons.isGivenUp || reasons.lockTimedOut;
  }

  end(): void {
    this.#server.close();
  }

  #driverOf(life: Life): PostgresDriver {
    return {
      client: (config) => {
        const socket = config.stream();
        // It never connects, and adds a listener whenever it is told to keep the process running.
        socket.setMaxListeners(0);
        const client = new SimulatedClient(life, {
          schedule: this.#schedule,
          random: this.#random,
          reasons: this.#reasonsOf(life),
          faults: this.#isQuiet ? { ...this.#model, ...quietStore } : this.#model,
          connect: () => this.#connect(),
        });
        socket.once('close', () => client.lose('the socket was destroyed'));
        const clients = this.#clients.get(life) ?? new Set();
        this.#clients.set(life, clients.add(client));
        return client;
      },
    };
  }

  #reasonsOf(life: Life): Reasons {
    const reasons = this.#reasons.get(life) ?? {
      clients: 0,
      neverConnected: false,
      clientsInARow: 0,
      isGivenUp: false,
      lostAt: undefined,
      lost: 0,
      lockTimedOut: false,
      lockRefused: false,
    };
    this.#reasons.set(life, reasons);
    return reasons;
  }

  #connect(): ServerSession {
    if (this.#schedule.now < this.#upAt)
      throw this.#random.chance(0.5)
        ? new ServerError('57P03', 'the database system is starting up')
        : Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' });
    return this.#server.connect();
  }

  /** What is not committed is gone, and so are all connections. */
  #crash(down: number): void {
    if (this.#isQuiet) return;
    this.#upAt = this.#schedule.now + down;
    for (const session of this.#server.sessions) session.end();
    for (const clients of this.#clients.values())
      for (const client of clients) client.hear('the server terminated the connection');
  }
}

interface Surroundings {
  readonly schedule: Schedule;
  readonly random: Random;
  readonly faults: StoreModel;
  readonly reasons: Reasons;
  readonly connect: () => ServerSession;
}

/** A connection of a process, in the place of the driver's. A statement runs at one moment and is answered at a later one. */
class SimulatedClient implements PostgresClient {
  readonly #life: Life;
  readonly #world: Surroundings;
  readonly #listeners: (() => void)[] = [];
  readonly #isFirst: boolean;
  #session: ServerSession | undefined;
  #state: 'new' | 'open' | 'lost' | 'closed' = 'new';
  /** Whether a transaction of the ledger has begun on it. */
  #isInUse = false;
  #reject: ((error: Error) => void) | undefined;
  /** Takes the response that is on its way back. */
  #response: Cancel | undefined;

  constructor(life: Life, world: Surroundings) {
    this.#life = life;
    this.#world = world;
    world.reasons.clients += 1;
    world.reasons.clientsInARow += 1;
    if (world.reasons.clientsInARow >= maxAttempts) world.reasons.isGivenUp = true;
    this.#isFirst = world.reasons.clients === 1;
  }

  get isOpen(): boolean {
    return this.#state === 'open';
  }

  get #opened(): ServerSession {
    if (!this.#session) throw new Error('A statement was sent before the connection was open.');
    return this.#session;
  }

  on(_event: 'error' | 'end', listener: () => void): void {
    this.#listeners.push(listener);
  }

  connect(): Promise<void> {
    const { random, faults } = this.#world;
    return this.#call('connect', random.chance(faults.cut) ? 'cut' : 'none', () => {
      this.#session = this.#world.connect();
      this.#session.onTerminated = () => this.hear('terminating connection due to administrator command');
      return Promise.resolve();
    }).then(() => {
      this.#state = 'open';
    });
  }

  /** A pooler tells another process than that of the server's session. */
  backend(): number | undefined {
    return this.#world.faults.hasPooler ? -1 : this.#opened.pid;
  }

  async query(text: string, values: readonly unknown[] = []): Promise<PostgresResult> {
    const { faults, reasons } = this.#world;
    if (text.includes('"')) this.#isInUse = true;
    const found = await this.#call(text, this.#fateOf(text), () => {
      const session = this.#opened;
      const result = session.execute(
        text,
        values.map((value) => (value === null ? null : String(value))),
      );
      this.#limitWait(session, faults.lockTimeout);
      return result;
    });
    if (found.rows[0]?.['locked'] === false) reasons.lockRefused = true;
    if (text === 'COMMIT' && this.#isInUse) this.#committed();
    return found;
  }

  async queryEach(text: string, lists: readonly (readonly unknown[])[]): Promise<readonly (number | null)[]> {
    const counts: (number | null)[] = [];
    for (const values of lists) counts.push((await this.query(text, values)).rowCount);
    return counts;
  }

  copy(text: string): Writable & { rowCount: number } {
    const { faults } = this.#world;
    const chunks: Buffer[] = [];
    const input = new Writable({
      write: (chunk: Buffer, _encoding, done) => {
        chunks.push(chunk);
        done();
      },
      final: (done) => {
        this.#call('COPY', this.#fateOf(text), () => {
          const session = this.#opened;
          const result = session.copy(text, Buffer.concat(chunks).toString());
          this.#limitWait(session, faults.lockTimeout);
          return result;
        }).then(
          ({ rowCount }) => {
            copy.rowCount = rowCount ?? 0;
            done();
          },
          (error: unknown) => done(error instanceof Error ? error : new Error(String(error))),
        );
      },
    });
    const copy = Object.assign(input, { rowCount: 0 });
    return copy;
  }

  end(): Promise<void> {
    const { schedule, random } = this.#world;
    const session = this.#session;
    if (this.#state === 'lost') return Promise.resolve();
    this.#state = 'closed';
    return new Promise((resolve) => {
      schedule.after(
        random.next() * 2,
        'db end',
        () => {
          session?.end();
          resolve();
        },
        this.#life,
      );
    });
  }

  /** The connection is cut, and the process is told. */
  lose(why: string, { isNoticed = true } = {}): void {
    const state = this.#state;
    if (state === 'lost') return;
    this.#state = 'lost';
    this.#response?.();
    if (isNoticed) this.#leave();
    if (state !== 'closed') this.#failed();
    for (const listener of this.#listeners) listener();
    this.#reject?.(Object.assign(new Error(`Connection terminated unexpectedly: ${why}`), { code: 'ECONNRESET' }));
    this.#reject = undefined;
  }

  /** The server has closed the connection, and the process hears of it a little later. */
  hear(why: string): void {
    if (this.#state === 'lost' || this.#state === 'closed') return;
    this.#world.schedule.after(this.#world.random.next() * 20, 'net db closed', () => this.lose(why), this.#life);
  }

  /** The process died. */
  abandon(): void {
    if (this.#state !== 'lost') this.#leave();
  }

  /** The server notices sooner or later that nobody is there any more. */
  #leave(): void {
    const { schedule, random, faults } = this.#world;
    const session = this.#session;
    if (!session || session.hasEnded()) return;
    const isUnnoticed = random.chance(faults.unnoticed);
    schedule.after(random.next() * (isUnnoticed ? 20_000 : 30), 'db disconnect', () => session.end(), null);
  }

  #committed(): void {
    const { reasons, schedule } = this.#world;
    reasons.clientsInARow = 0;
    if (reasons.lostAt !== undefined) reasons.lost += schedule.now - reasons.lostAt;
    reasons.lostAt = undefined;
  }

  /** An attempt has failed, and the next one is made on another connection. */
  #failed(): void {
    const { reasons, schedule } = this.#world;
    reasons.lostAt ??= schedule.now;
    if (!this.#isInUse && this.#isFirst) reasons.neverConnected = true;
  }

  #fateOf(text: string): Fate {
    const { random, faults } = this.#world;
    let left = random.next();
    const isFate = (share: number): boolean => left >= 0 && (left -= share) < 0;
    if (text === 'COMMIT' && random.chance(faults.lostCommits))
      return random.pick(['cut', 'unanswered', 'unanswered', 'late']);
    if (isFate(faults.cut)) return 'cut';
    if (isFate(faults.unanswered)) return 'unanswered';
    if (isFate(faults.late)) return 'late';
    if (text !== 'ROLLBACK' && !text.startsWith('BEGIN') && isFate(faults.conflicts)) return 'conflict';
    return 'none';
  }

  #limitWait(session: ServerSession, timeout: number | null): void {
    if (timeout === null || !session.isWaiting) return;
    this.#world.schedule.after(
      timeout,
      'db lock timeout',
      () => {
        if (!session.isWaiting) return;
        this.#world.reasons.lockTimedOut = true;
        session.cancelWait(new ServerError('55P03', 'canceling statement due to lock timeout'));
      },
      null,
    );
  }

  #call<R>(text: string, fate: Fate, work: () => Promise<R>): Promise<R> {
    const { schedule, random } = this.#world;
    const life = this.#life;
    if (this.#state === 'lost' || this.#state === 'closed')
      return Promise.reject(new Error('Client has encountered a connection error and is not queryable'));
    const label = `db ${labelOf(text)}`;
    const way = 0.2 + random.skewed(0, 12);
    return new Promise((resolve, reject) => {
      this.#reject = reject;
      if (fate === 'cut' || fate === 'late')
        schedule.after(way, 'net db reset', () => this.lose(fate, { isNoticed: fate === 'cut' }), life);
      if (fate === 'cut') return;
      const arrival = fate === 'late' ? way + random.skewed(0, 3_000) : way;
      schedule.after(
        arrival,
        label,
        () => {
          const answer = (then: () => void): void => {
            if (fate === 'late') this.#leave();
            if (fate === 'late' || this.#state === 'lost') return;
            if (fate === 'unanswered') {
              schedule.after(random.next() * 30, 'net db reset', () => this.lose(fate), life);
              return;
            }
            this.#response = schedule.after(
              0.1 + random.skewed(0, 12),
              `${label} done`,
              () => {
                this.#reject = undefined;
                then();
              },
              life,
            );
          };
          const done = async (): Promise<R> => {
            if (fate === 'conflict') throw this.#opened.fail(...random.pick(conflicts));
            return await work();
          };
          done().then(
            (result) => answer(() => resolve(result)),
            (error: unknown) =>
              answer(() => {
                this.#failed();
                reject(error instanceof Error ? error : new Error(String(error)));
              }),
          );
        },
        null,
      );
    });
  }
}

type Fate = 'none' | 'cut' | 'unanswered' | 'late' | 'conflict';

const conflicts: readonly [readonly [string, string], readonly [string, string]] = [
  ['40P01', 'deadlock detected'],
  ['40001', 'could not serialize access due to concurrent update'],
];

/** A statement as the trace shows it. */
function labelOf(text: string): string {
  return text.length > 100 ? `${text.slice(0, 100)} …` : text;
}
