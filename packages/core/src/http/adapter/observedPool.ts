import type { Dispatcher } from 'undici';
import Client from 'undici/lib/dispatcher/client.js';
import Pool from 'undici/lib/dispatcher/pool.js';
import { Incoming } from './incoming.js';
import { ObservedSocket } from './observedSocket.js';

/** A request that says what its answer is handed to. */
export interface ObservedRequest extends Dispatcher.DispatchOptions {
  readonly answer: Incoming;
}

/**
 * A pool that tells each answer on its way in about the connection it comes over: the `factory` of an agent.
 *
 * @param options undici's own, which it hands to a factory.
 */
export function observedPool(origin: string | URL, options: Pool.Options): Pool {
  return new Pool(origin, { ...options, factory: observedClient });
}

function observedClient(origin: URL, options: Client.Options): Client {
  const { connect } = options;
  if (typeof connect !== 'function') return new Client(origin, options);
  let connection: ObservedSocket | undefined;
  const client = new Client(origin, {
    ...options,
    connect: (target, callback) =>
      connect(target, (...outcome) => {
        connection = outcome[0] === null ? new ObservedSocket(outcome[1]) : undefined;
        callback(...outcome);
      }),
  });
  const dispatch = client.dispatch.bind(client);
  return Object.assign(client, {
    dispatch: (...[request, handler]: Parameters<Client['dispatch']>) => {
      // The handler itself is wrapped by now.
      if ('answer' in request && request.answer instanceof Incoming) request.answer.findConnection = () => connection;
      return dispatch(request, handler);
    },
  });
}
