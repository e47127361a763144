import type { Agent, Dispatcher, buildConnector } from 'undici';
import connectThrough from 'undici/lib/api/api-connect.js';
import EnvHttpProxyAgent from 'undici/lib/dispatcher/env-http-proxy-agent.js';
import Pool from 'undici/lib/dispatcher/pool.js';
import { ConfigError } from '../../errors.js';
import { AdapterFault } from './adapter.js';
import { codeOf } from './incoming.js';

/**
 * Uses the proxies that the environment names. Loaded only if there is one.
 *
 * @throws ConfigError if a variable is not a proxy URL. Its value is not shown: it may contain a password.
 */
export function proxyAgent(
  connect: buildConnector.connector,
  timeout: number,
  reuse: Pick<Agent.Options, 'pipelining' | 'factory'>,
): EnvHttpProxyAgent {
  const tls = { timeout };
  try {
    return new EnvHttpProxyAgent({
      connect,
      ...reuse,
      headersTimeout: 0,
      bodyTimeout: 0,
      requestTls: tls,
      // The deadline for connecting also covers a proxy that never opens the tunnel.
      clientFactory: (proxy) => tunnelling(new Pool(proxy, { connect, headersTimeout: timeout })),
    });
  } catch {
    throw new ConfigError(
      'HTTPS_PROXY or HTTP_PROXY is not the URL of a proxy. Give one like http://proxy.example.com:8080.',
    );
  }
}

/** A pool that fails if the proxy closes the connection. Undici would retry that at once, forever. */
function tunnelling(proxy: Pool): Pool {
  return Object.assign(proxy, {
    connect: (options: Dispatcher.ConnectOptions) =>
      connectThrough.call(proxy, options).catch((error: unknown) => {
        throw codeOf(error) === 'UND_ERR_SOCKET'
          ? new AdapterFault('network', 'the proxy closed the connection')
          : error;
      }),
  });
}
