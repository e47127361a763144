import { createClient, type Client } from '@sluice/core';
import type { Config } from '../config/config.js';
import { notesOf } from '../terminal/notesOf.js';
import type { Environment } from '../environment.js';
import { apiNames } from './baseUrl.js';
import { addApi, withClient } from './openClient.js';

/** Where nobody is. */
const nowhere = 'https://api.invalid';

/**
 * Works with all plugins and the command line's own APIs, without a key or an address: nothing can be requested. They are disposed of
 * afterwards.
 *
 * @throws what a plugin raises that can't be added, and what the work raises.
 */
export async function withPlugins<R>(
  { plugins }: Pick<Config, 'plugins'>,
  environment: Pick<Environment, 'stderr'>,
  work: (client: Client) => Promise<R>,
): Promise<R> {
  const client = createClient({ apiKey: 'no-key-is-asked-for' });
  return withClient(Promise.resolve({ client, notes: notesOf(client) }), environment, async (open) => {
    for (const name of apiNames) addApi(open, name, nowhere);
    for (const plugin of plugins) open.use(plugin);
    return await work(open);
  });
}
