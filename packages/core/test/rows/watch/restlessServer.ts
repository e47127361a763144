import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Random } from '../../../../../test/kit/random.js';
import { Listing, rowsOf } from './listing.js';

const ids = [...'abcdefghijklmnop'];

/** A server that goes on at each page that it is asked for: back and forth, in and out. */
export class RestlessServer {
  readonly listing = new Listing(rowsOf(...ids), 5);
  /** Pages that were asked for. */
  pages = 0;
  readonly #random: Random;
  readonly #server: Server;
  #isCalm = false;
  #served = (): void => undefined;

  private constructor(random: Random) {
    this.#random = random;
    this.#server = createServer((request, response) => {
      this.#goOn();
      const from = Number(new URL(request.url ?? '', 'http://localhost').searchParams.get('from'));
      const { rows, pageSize } = this.listing;
      const to = from + pageSize;
      // Cut out of what the listing is at this moment.
      const page = { rows: rows.slice(from, to), next: to < rows.length ? { cursor: String(to) } : 'end' };
      response.end(JSON.stringify(page));
    });
  }

  static async start(random: Random): Promise<RestlessServer> {
    const started = new RestlessServer(random);
    started.#server.listen(0, '127.0.0.1');
    await once(started.#server, 'listening');
    return started;
  }

  get url(): string {
    return `http://127.0.0.1:${String((this.#server.address() as AddressInfo).port)}`;
  }

  /** Resolves when so many more pages were asked for. */
  async more(count: number): Promise<void> {
    const enough = this.pages + count;
    while (this.pages < enough) await new Promise<void>((resolve) => (this.#served = resolve));
  }

  /** Nothing changes any more. */
  calm(): void {
    this.#isCalm = true;
  }

  close(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }

  #goOn(): void {
    this.pages += 1;
    this.#served();
    if (this.#isCalm) return;
    const random = this.#random;
    const listing = this.listing;
    const id = ids[random.int(0, ids.length - 1)] ?? '';
    if (random.chance(0.5)) listing.set(id, random.chance(0.5) ? 'active' : 'error');
    else if (random.chance(0.5)) listing.remove(id);
    else if (!listing.rows.some((each) => each.id === id)) listing.add(id);
  }
}
