import { ConfigError } from '../errors.js';
import type { ApiCredentials } from './credentials.js';
import type { Limiter } from './limit/limiterTypes.js';
import type { TransportRequest } from './transport.js';

/** What the requests of one API get below the links. */
export interface ApiAccess {
  /** Only requests below it get the credentials. Without a trailing slash. */
  readonly baseUrl: string;
  readonly credentials: ApiCredentials;
  readonly limiter: Limiter;
}

/** Names the API of a request to {@link AccessBook}, and nothing to anybody else. Links copy it with the request. */
const owner: unique symbol = Symbol('sluice.owner');

interface OwnedRequest extends TransportRequest {
  readonly [owner]?: object;
}

/** A request that knows whose it is. */
export type Own = (request: TransportRequest) => TransportRequest;

/** The APIs of a client. */
export class AccessBook {
  readonly #all: ApiAccess[] = [];
  readonly #byOwner = new WeakMap<object, ApiAccess>();

  /** Adds an API; returns what marks its requests. */
  add(access: ApiAccess): Own {
    const mark = Object.freeze({});
    this.#all.push(access);
    this.#byOwner.set(mark, access);
    return (request): OwnedRequest => {
      const owned: { [owner]?: object } & TransportRequest = { ...request };
      // After what the request brings: it may be that of another API.
      owned[owner] = mark;
      return owned;
    };
  }

  /** The origin of another API that gets the same credentials, if there is one. */
  originWithSameCredentials({ baseUrl, credentials }: ApiAccess): string | undefined {
    const others = this.#all.filter((other) => other.credentials === credentials);
    return others.map((other) => originOf(other.baseUrl)).find((origin) => origin !== originOf(baseUrl));
  }

  /**
   * The API that a request goes to now, wherever links have led it: its own one, if it stayed there.
   *
   * @throws ConfigError if no API has that address, or several have it and a link has made the request itself.
   */
  of(request: OwnedRequest): ApiAccess {
    const { route } = request;
    const own = this.#byOwner.get(request[owner] ?? this);
    if (own?.baseUrl === request.baseUrl) return own;
    const baseUrl = asRequested(request.baseUrl);
    if (own && isBelow(baseUrl, own.baseUrl)) return own;
    const [first, second] = this.#all
      .filter((access) => isBelow(baseUrl, access.baseUrl))
      .sort((a, b) => b.baseUrl.length - a.baseUrl.length);
    if (!first)
      throw refusal(
        route,
        `must not go to ${originOf(baseUrl)}: this client has no base URL there, and the request would carry the API key. Check its links`,
      );
    if (second?.baseUrl === first.baseUrl && second.credentials !== first.credentials)
      throw refusal(
        route,
        `could have the credentials of several APIs at ${originOf(baseUrl)}. A link must pass on a copy of the request that it got, as { ...request }`,
      );
    return first;
  }
}

/** A base URL that a link gave, without `..` and the like. */
function asRequested(baseUrl: string): string {
  if (!URL.canParse(baseUrl)) return baseUrl;
  const { origin, pathname } = new URL(baseUrl);
  return origin + pathname.replace(/\/+$/, '');
}

function isBelow(baseUrl: string, base: string): boolean {
  return baseUrl === base || baseUrl.startsWith(`${base}/`);
}

function originOf(baseUrl: string): string {
  return URL.canParse(baseUrl) ? new URL(baseUrl).origin : 'an address that is not a URL';
}

function refusal(route: string, fault: string): ConfigError {
  return new ConfigError(`${route} ${fault}.`, { route });
}
