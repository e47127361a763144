import { brotliCompressSync, constants, deflateSync, gzipSync } from 'node:zlib';
import { apis, type ApiName } from '../../test/kit/apiReference.js';
import type { HostileChild } from './hostileChild.js';
import type { HostileServer } from './hostileServer.js';

/** A small response that is large after decompression. */
interface Bomb {
  readonly name: string;
  readonly packed: Buffer;
  readonly encoding: string;
  /** The required outcome of each walk. */
  readonly end: 'response-too-large' | 'decode';
}

/** The outcome of a bomb. */
export interface StormEnd {
  readonly name: string;
  /** In bytes, as sent. */
  readonly packed: number;
  readonly encoding: string;
  /** Walks that received it. */
  readonly walks: number;
  readonly fault?: string;
}

const walksAtOnce = 16;
const MiB = 1024 * 1024;

/** Sends each bomb to many walks at once, of one API and then of the other. */
export async function* storms(child: HostileChild, server: HostileServer): AsyncGenerator<StormEnd> {
  for (const bomb of bombs()) {
    const { name, packed, encoding } = bomb;
    const head = `HTTP/1.1 200 OK\r\nContent-Encoding: ${encoding}\r\nContent-Length: ${packed.length}\r\n\r\n`;
    server.answerWith([], { pieces: [Buffer.concat([Buffer.from(head), packed])], then: 'keep' });
    let fault: string | undefined;
    for (const api of apis) fault ??= await faultOf(child, api, bomb);
    const walks = walksAtOnce * apis.length;
    yield { name, packed: packed.length, encoding, walks, ...(fault !== undefined && { fault }) };
  }
}

async function faultOf(child: HostileChild, api: ApiName, { end }: Bomb): Promise<string | undefined> {
  const report = await child.ask({ kind: 'storm', api, walks: walksAtOnce });
  if ('died' in report) return report.died;
  const wrong = report.ends.find((each) => each !== end);
  return (
    report.strays[0] ??
    report.pollution ??
    (wrong === undefined ? undefined : `${api} came to ${wrong}, not to ${end}.`)
  );
}

function* bombs(): Generator<Bomb> {
  const gzip = (bytes: Buffer) => gzipSync(bytes);
  const deflate = (bytes: Buffer) => deflateSync(bytes);
  const br = (bytes: Buffer) => brotliCompressSync(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 5 } });
  const zeros = Buffer.alloc(200 * MiB, '0');
  yield { name: '200 MiB of zeros', packed: gzip(zeros), encoding: 'gzip', end: 'response-too-large' };
  yield { name: '200 MiB of zeros', packed: deflate(zeros), encoding: 'deflate', end: 'response-too-large' };
  yield { name: '200 MiB of zeros', packed: br(zeros), encoding: 'br', end: 'response-too-large' };
  // Not decompressed, because the client did not ask for this encoding.
  yield { name: 'packed twice', packed: gzip(gzip(zeros)), encoding: 'gzip, gzip', end: 'response-too-large' };
  yield {
    name: 'no zstd that we asked for',
    packed: Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0xff]),
    encoding: 'zstd',
    end: 'decode',
  };
  // Below the limit, but far beyond the memory of the process once parsed.
  for (const [name, text] of just)
    yield { name, packed: gzip(Buffer.from(text())), encoding: 'gzip', end: 'response-too-large' };
}

const size = 31 * MiB;
const just: readonly (readonly [name: string, text: () => string])[] = [
  ['31 MiB of empty rows', () => `{"result":[${'{},'.repeat(size / 3)}{}]}`],
  ['31 MiB of lists in one another', () => `{"result":${'['.repeat(size / 2)}${']'.repeat(size / 2)}}`],
  ['31 MiB of numbers', () => `{"result":[${'0,'.repeat(size / 2)}0]}`],
  ['31 MiB of one text', () => `{"result":[{"id":"${'x'.repeat(size)}"}]}`],
  ['31 MiB of one text that is wide', () => `{"result":[{"name":"💥${'x'.repeat(size)}"}]}`],
  ['31 MiB of a web page', () => `<html>${'x'.repeat(size)}`],
  ['31 MiB of blanks', () => ' '.repeat(size)],
];
