import type { Agent, Dispatcher, buildConnector } from 'undici';
import connectThrough from 'undici/lib/api/api-connect.js';
import EnvHttpProxyAgent from 'undici/lib/dispatcher/env-http-proxy-agent.js';
import Pool from 'undici/lib/dispatcher/pool.js';
import { ConfigError } from '../../errors.js';
import { AdapterFault } from './adapter.js';
import { codeOf } from './incoming.js';
import { observedPool } from './observedPool.js';

/**
 * Goes through the proxies that the environment names. Loaded only where it names one.
 *
 * @throws ConfigError if an environment variable names no proxy. Its value is not shown: it may hold a password.
 */
export function proxyAgent(
  connect: buildConnector.connector,
  timeout: number,
  reuse: Pick<Agent.Options, 'pipelining'>,
): EnvHttpProxyAgent {
  const tls = { timeout };
  try {
    return new EnvHttpProxyAgent({
      ...{ connect, factory: observedPool, ...reuse },
      headersTimeout: 0,
      bodyTimeout: 0,
      requestTls: tls,
      // A proxy that takes the connection and never opens the tunnel is found by the deadline for connecting, too.
      clientFactory: (proxy) => tunnelling(new Pool(proxy, { connect, headersTimeout: timeout })),
    });
  } catch {
    throw new ConfigError(
      'HTTPS_PROXY or HTTP_PROXY names no proxy. Give an address like http://proxy.example.com:8080.',
    );
  }
}

/** A pool that says of a proxy which hangs up that it failed: undici would take that for a socket's whim, and ask it again at once, for ever. */
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
