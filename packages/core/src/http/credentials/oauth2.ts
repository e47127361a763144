import { ConfigError } from '../../errors.js';
import { sha256, shortHasher } from '../../identifiers.js';
import type { OAuth2Options, SavedToken } from './auth.js';
import type { CredentialTools } from './credentialTypes.js';
import type { IssuedSecret, SecretIssuer } from './renewedSecret.js';
import { RecentSecrets } from './recentSecrets.js';
import type { Grant, IssuedToken } from './tokenRequest.js';

export interface TokenTools extends CredentialTools {
  /** The API, for messages. */
  readonly api: string;
  /** Requests a token, retries included. */
  readonly request: (grant: Grant) => Promise<IssuedToken>;
  /** The refresh token of the options; `undefined` for the grant of client credentials. */
  readonly refreshToken: (() => Promise<string>) | undefined;
  readonly warn: (message: string) => void;
}

/** Whose tokens these are. */
interface TokenClient {
  readonly save: OAuth2Options['save'] | undefined;
  readonly scope: string | undefined;
  readonly tokenUrl: string;
  /** @throws ConfigError if the variable that has it is not set. */
  readonly clientId: () => string;
}

/**
 * Issues the bearer tokens (RFC 6750) of an API with OAuth 2 (RFC 6749). They take no permit of the API, so a request that
 * holds one may wait for them.
 */
export function tokenIssuer(client: TokenClient, tools: TokenTools): SecretIssuer {
  const { tokenUrl, clientId, scope = '' } = client;
  const shortHash = shortHasher(tools.sha256 ?? sha256);
  const tokens = new Tokens(client.save, tools);
  return {
    takesPermits: false,
    issue: () => tokens.issue(),
    // Not the token: the next one must be able to resume.
    identify: async (salt) => shortHash(`${salt}:${JSON.stringify([tokenUrl, clientId(), scope])}`),
  };
}

class Tokens {
  readonly #saveToken: TokenClient['save'];
  readonly #tools: TokenTools;
  readonly #hidden: RecentSecrets;
  #refreshToken: string | undefined;
  /** A token with a new refresh token that could not be saved yet. */
  #unsaved: SavedToken | undefined;
  #hasWarned = false;

  constructor(save: TokenClient['save'], tools: TokenTools) {
    this.#saveToken = save;
    this.#tools = tools;
    this.#hidden = new RecentSecrets(tools.secrets, tools.clock, tools.echoedFor);
  }

  async issue(): Promise<IssuedSecret> {
    const { request, refreshToken } = this.#tools;
    await this.#save();
    const sent = refreshToken && (this.#refreshToken ?? (await refreshToken()));
    const token = await request(sent === undefined ? { kind: 'client' } : { kind: 'refresh', refreshToken: sent });
    const { accessToken, lifetime } = token;
    const next = sent === undefined ? undefined : (token.refreshToken ?? sent);
    this.#hidden.replace(next === undefined ? [accessToken] : [accessToken, next]);
    if (next !== undefined && next !== sent) await this.#replaceRefreshToken({ ...token, refreshToken: next });
    return { secret: accessToken, lifetime };
  }

  /** The token is used only when it is saved: if the process ended before, the next one would have none. */
  async #replaceRefreshToken(token: IssuedToken & { readonly refreshToken: string }): Promise<void> {
    const { api, clock, warn } = this.#tools;
    const { refreshToken, accessToken, lifetime } = token;
    // The one before may not be accepted any more, whether or not this one can be saved.
    this.#refreshToken = refreshToken;
    if (!this.#saveToken) {
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
      await this.#saveToken?.(this.#unsaved);
      this.#unsaved = undefined;
    } catch {
      // The error is not passed on: it may contain a token.
      throw new ConfigError(
        `The function \`save\` of ${this.#tools.api} failed, so the new refresh token is not stored. Call it by itself to see why.`,
        { api: this.#tools.api },
      );
    }
  }
}
