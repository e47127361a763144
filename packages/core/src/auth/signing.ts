import { unknownOption } from '../checks.js';
import { ConfigError, type SluiceError } from '../errors.js';
import { inWords, isRecord } from '../values.js';
import { encodeQuery } from '../http/query.js';
import { ownHeaders } from '../http/requestDetails.js';
import { isHeader } from '../http/headers.js';
import { type Secrets, shortestSecret } from '../http/secrets.js';
import type { SignedRequest, StampedRequest } from '../http/stamp.js';
import type { Signature, SignFunction, UnsignedRequest } from './signature.js';

/** The signatures of an API, each redacted while its attempt is on its way, and some time after. */
export class Signatures {
  readonly #api: string;
  readonly #sign: SignFunction;
  readonly #secrets: Secrets;
  readonly #params = new Set<string>();
  /** What is redacted of attempts that have ended, the oldest first. */
  readonly #ended: (readonly string[])[] = [];

  constructor(api: string, sign: SignFunction, secrets: Secrets) {
    this.#api = api;
    this.#sign = sign;
    this.#secrets = secrets;
  }

  /** The query parameters that signatures have set. */
  get params(): readonly string[] {
    return [...this.#params];
  }

  /** Signs an attempt. @throws ConfigError if the function failed, or its signature can't be added. */
  async sign(unsigned: StampedRequest, secret: string): Promise<SignedRequest> {
    const { method, url, headers, body = '' } = unsigned;
    const request = Object.freeze({ method, url, headers: Object.freeze({ ...headers }), body });
    let signature: unknown;
    try {
      signature = await this.#sign(request, secret);
    } catch {
      // The error is not passed on: it may contain the secret.
      throw this.#fault('failed. It must not change the request; call it by itself to see why');
    }
    const added = this.#checked(signature, request);
    const values = [...Object.values(added.headers), ...Object.values(added.query)];
    return {
      ...unsigned,
      url: withQuery(url, added.query),
      headers: { ...headers, ...added.headers },
      hide: () => this.#hide(values),
    };
  }

  #checked(signature: unknown, request: UnsignedRequest): Required<Signature> {
    if (!isRecord(signature)) throw this.#fault(`returned ${inWords(signature)}. It must return { headers, query }`);
    const unknown = unknownOption(signature, { headers: true, query: true });
    if (unknown !== undefined)
      throw this.#fault(`returned something else than headers and query parameters: a signature ${unknown}`);
    const headers = this.#texts('headers', signature['headers']);
    const query = this.#texts('query', signature['query']);
    const sent = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value.trim()] as const);
    for (const [name, value] of sent) {
      if (ownHeaders.test(name) || Object.hasOwn(request.headers, name))
        throw this.#fault(`set the header ${JSON.stringify(name)}, which the request has already`);
      if (!isHeader(name, value)) throw this.#fault(`set a header that cannot be sent (${JSON.stringify(name)})`);
    }
    const { searchParams } = new URL(request.url);
    const taken = Object.keys(query).find((name) => searchParams.has(name));
    if (taken !== undefined)
      throw this.#fault(`set the query parameter ${JSON.stringify(taken)}, which the request has already`);
    for (const name of Object.keys(query)) this.#params.add(name);
    return { headers: Object.fromEntries(sent), query };
  }

  #texts(option: string, given: unknown): Readonly<Record<string, string>> {
    if (given === undefined) return {};
    if (!isRecord(given)) throw this.#fault(`returned ${inWords(given)} as ${option}, which must be an object`);
    const texts: Record<string, string> = {};
    for (const [name, value] of Object.entries(given)) {
      if (typeof value !== 'string')
        throw this.#fault(`returned ${inWords(value)} as ${JSON.stringify(name)} of ${option}, which must be text`);
      texts[name] = value;
    }
    return texts;
  }

  #hide(values: readonly string[]): () => void {
    const texts = values.flatMap(secretParts);
    for (const text of texts) this.#secrets.add(text);
    return () => {
      this.#ended.push(texts);
      const oldest = this.#ended.length > maxEnded ? (this.#ended.shift() ?? []) : [];
      for (const text of oldest) this.#secrets.remove(text);
    };
  }

  #fault(what: string): SluiceError {
    return new ConfigError(`The function of sign() of ${this.#api} ${what}.`, { api: this.#api });
  }
}

function withQuery(url: string, query: Readonly<Record<string, string>>): string {
  const added = encodeQuery(query, 'repeat');
  return added === '' ? url : `${url}${url.includes('?') ? '&' : '?'}${added}`;
}

/** Signatures of attempts that have ended, which stay redacted: who reads a page later may quote them. */
const maxEnded = 50;

/** Shorter parts of a header with several occur by chance, or are names of algorithms. */
const shortestPart = 20;

/** A time or a number, which rows and cursors may have as well. */
const timeOrNumber = /^(?:[\d.]{1,20}|\d{4}-?\d\d-?\d\d([T ][\d:.]+)?(Z|[+-][\d:]+)?|\w{3}, [\w :-]+ GMT)$/;

/** A value, and the parts of one that has several, e.g. `Signature=…` of an `Authorization` header. */
function secretParts(value: string): readonly string[] {
  const parts = value.split(/[\s,;:="]+/).filter(({ length }) => length >= shortestPart);
  return [...new Set([value, ...parts])].filter((text) => text.length >= shortestSecret && !timeOrNumber.test(text));
}
