import { ConfigError } from '../errors.js';
import { sha256, shortHasher } from '../identifiers.js';
import type { OAuth2Options, SavedToken } from './auth.js';
import type { CredentialTools, IssuedSecret, SecretIssuer } from './renewedSecret.js';
import { RecentSecrets } from './recentSecrets.js';
import type { Grant, IssuedToken } from './tokenRequest.js';

interface TokenOptions extends CredentialTools, Pick<OAuth2Options, 'save' | 'scope' | 'tokenUrl'> {
  /** The API, for messages. */
  readonly api: string;
  /** @throws ConfigError if the variable that has it is not set. */
  readonly clientId: () => string;
  /** Requests a token, retries included. */
  readonly request: (grant: Grant) => Promise<IssuedToken>;
  /** The refresh token to begin with; `undefined` for the grant of client credentials. */
  readonly initialToken: (() => Promise<string>) | undefined;
  readonly warn: (message: string) => void;
}

/**
 * Issues the bearer tokens (RFC 6750) of an API with OAuth 2 (RFC 6749). They take no permit of the API, so a request that
 * holds one may wait for them.
 */
export class TokenIssuer implements SecretIssuer {
  readonly takesPermits = false;
  readonly #options: TokenOptions;
  readonly #hash: (text: string) => Promise<string>;
  readonly #hidden: RecentSecrets;
  #refreshToken: string | undefined;
  /** A token with a new refresh token that could not be saved yet. */
  #unsaved: SavedToken | undefined;
  #hasWarned = false;

  constructor(options: TokenOptions) {
    this.#options = options;
    this.#hash = shortHasher(options.sha256 ?? sha256);
    this.#hidden = new RecentSecrets(options.secrets, options.clock, options.echoedFor);
  }

  /** Not of the token: the next one must be able to resume. */
  async identify(salt: string): Promise<string> {
    const { tokenUrl, clientId, scope = '' } = this.#options;
    return this.#hash(`${salt}:${JSON.stringify([tokenUrl, clientId(), scope])}`);
  }

  async issue(): Promise<IssuedSecret> {
    const { request, initialToken } = this.#options;
    await this.#save();
    const sent = initialToken && (this.#refreshToken ?? (await initialToken()));
    const token = await request(sent === undefined ? { kind: 'client' } : { kind: 'refresh', refreshToken: sent });
    const { accessToken, lifetime } = token;
    const next = sent === undefined ? undefined : (token.refreshToken ?? sent);
    this.#hidden.replace(next === undefined ? [accessToken] : [accessToken, next]);
    if (next !== undefined && next !== sent) await this.#replaceRefreshToken({ ...token, refreshToken: next });
    return { secret: accessToken, lifetime };
  }

  /** The token is used only when it is saved: if the process ended before, the next one would have none. */
  async #replaceRefreshToken(token: IssuedToken & { readonly refreshToken: string }): Promise<void> {
    const { api, clock, save, warn } = this.#options;
    const { refreshToken, accessToken, lifetime } = token;
    // The one before may not be accepted any more, whether or not this one can be saved.
    this.#refreshToken = refreshToken;
    if (!save) {
      if (!this.#hasWarned)
        warn(
          `The token server of ${api} replaces refresh tokens, and the new one is lost when this process ends. Give oauth2 a function \`save\` that stores it.`,
        );
      this.#hasWarned = true;
      return;
    }
    const expiresAt = lifetime === Infinity ? undefined : clock.now() + lifetime;
    this.#unsaved = { refreshToken, accessToken, expiresAt };
    await this.#save();
  }

  /** Stores a new refresh token, also if that failed before: the server may never issue another one. */
  async #save(): Promise<void> {
    if (!this.#unsaved) return;
    try {
      await this.#options.save?.(this.#unsaved);
      this.#unsaved = undefined;
    } catch {
      // The error is not passed on: it may contain a token.
      throw new ConfigError(
        `The function \`save\` of ${this.#options.api} failed, so the new refresh token is not stored. Call it by itself to see why.`,
        { api: this.#options.api },
      );
    }
  }
}
