import { createSource, type Source } from '@sluice/core';
import { evmStreamSchema, type EvmStream } from '../../packages/streams/src/index.js';
import { changedShare, startSandboxProcess } from './sandboxProcess.js';

/** Rows per page: the maximum of the API. */
export const pageSize = 100;

/**
 * The pages of the sandbox's streams as texts in memory, so that measurements with them involve no network. Another
 * process generates them: in the process where the sandbox has built its rows, V8 takes a fifth longer to compare any
 * others with the same fields.
 */
export class StreamPages {
  readonly texts: string[];
  #changed = 0;

  private constructor(texts: string[]) {
    this.texts = texts;
  }

  /** @param rows a multiple of the page's size. */
  static async of(rows: number): Promise<StreamPages> {
    await using sandbox = await startSandboxProcess(rows);
    const texts: string[] = [];
    for (let cursor: string | undefined = ''; cursor !== undefined;) {
      const query = new URLSearchParams({ limit: String(pageSize), ...(cursor && { cursor }) });
      const headers = { 'X-API-Key': sandbox.apiKey };
      const answer = await fetch(`${sandbox.streamsUrl}/streams/evm?${query.toString()}`, { headers });
      const page: { result: EvmStream[]; cursor?: string } = JSON.parse(await answer.text());
      texts.push(JSON.stringify(page.result));
      cursor = page.cursor;
    }
    return new StreamPages(texts);
  }

  get rows(): number {
    return this.texts.length * pageSize;
  }

  /** Of a row as JSON, on average. */
  get bytesPerRow(): number {
    return this.texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0) / this.rows;
  }

  /** Changes the status of one row in a hundred, each time of the next ones; returns the bytes of these rows. */
  change(): number {
    let bytes = 0;
    for (let left = this.rows * changedShare; left > 0;) {
      const page = Math.floor(this.#changed / pageSize) % this.texts.length;
      const rows = parsed(this.texts[page]);
      for (const row of rows.slice(this.#changed % pageSize, (this.#changed % pageSize) + left)) {
        // Two words of the same length, so that a growing heap has another reason.
        Object.assign(row, { status: row.status === 'active' ? 'paused' : 'active' });
        bytes += Buffer.byteLength(JSON.stringify(row));
        this.#changed += 1;
        left -= 1;
      }
      this.texts[page] = JSON.stringify(rows);
    }
    return bytes;
  }

  /** Parses the pages again at each walk, as a client does. */
  source(onWalk: () => void = () => undefined): Source<EvmStream> {
    return createSource<EvmStream>({
      name: 'prove.streams',
      identity: null,
      schema: evmStreamSchema,
      fetch: ({ at }) => {
        const page = at && 'cursor' in at ? Number(at.cursor) : 0;
        if (page === 0) onWalk();
        const next = page + 1 < this.texts.length ? { cursor: String(page + 1) } : 'end';
        return Promise.resolve({ rows: parsed(this.texts[page]), next });
      },
    });
  }
}

function parsed(text = '[]'): EvmStream[] {
  return JSON.parse(text);
}
