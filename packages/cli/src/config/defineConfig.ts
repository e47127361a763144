/**
 * Types of the command line's configuration.
 *
 * @module @sluice/cli/config
 */

import type { Plugin } from '@sluice/core';

/** A configuration of the command line: the default export of `sluice.config.js`, or what `sluice.config.json` holds. */
export interface SluiceConfig {
  /**
   * Plugins, in the order in which they are set up; `false` and `null` are skipped. A text names a module whose default export, or only
   * exported function, is a plugin or makes one: a path, or a package that is installed where the configuration lies. `[module, options]`
   * hands it options.
   */
  readonly plugins?: readonly (Plugin | string | readonly [module: string, options: unknown] | false | null)[];
  /** Options of commands, where neither the command line nor the environment says something else. */
  readonly defaults?: Defaults;
}

/** A number, or as a text. */
type Count = number | string;
/** Items, or one text with commas between them. */
type List = readonly string[] | string;

/**
 * Options of commands by their long names, in the same words: each is read as on the command line, and used by every command that has it and
 * takes its value. What says what a single run is to do, like `--restart` or `--to`, is refused, and so is every secret.
 *
 * Paths of files are meant from the configuration's folder.
 */
export interface Defaults {
  /** Base address of the streams API. `SLUICE_STREAMS_URL` wins. */
  readonly streamsUrl?: string;
  /** Base address of the Aptos NFT API. `SLUICE_APTOS_URL` wins. */
  readonly aptosUrl?: string;
  /** Path of the file that holds the API key. `SLUICE_API_KEY` wins. */
  readonly apiKeyFile?: string;
  /** Most requests: `25/s`, `100/m` or `unlimited`. */
  readonly rate?: string;
  /** Longest time for one answer: `30s`. */
  readonly timeout?: string;
  /** How long a fault that may pass is tried: `2m`, or `forever`. */
  readonly retryFor?: string;
  /** Rows a request. */
  readonly pageSize?: Count;
  /** Parts asked for at once. Left out where `--max-rows` is given. */
  readonly concurrency?: Count;
  /** Wallets in one group, asked for together. */
  readonly ownersPerRequest?: Count;
  /** Wallets. */
  readonly owner?: List;
  /** Path of a file of wallets, one a line. */
  readonly ownersFile?: string;
  /** Only these collections. */
  readonly includeCollections?: List;
  /** All but these collections. */
  readonly excludeCollections?: List;
  /** Of streams: only changes of status. */
  readonly only?: 'status';
  /** Fields that tell one row from another. */
  readonly key?: List;
  /** How rows or changes are written, where the target's name does not say it. */
  readonly format?: 'csv' | 'jsonl' | 'text' | 'json' | 'table';
  /** Only these columns, in this order. */
  readonly columns?: List;
  /** Whether files are compressed, whatever their name says. */
  readonly gzip?: boolean;
  /** What to do where a file is there. */
  readonly ifExists?: 'fail' | 'overwrite';
  /** Whether CSV keeps text from being run by a spreadsheet. Default `true`. */
  readonly guardFormulas?: boolean;
  /** Whether CSV has a last column with the fields that are not known. */
  readonly extra?: boolean;
  /** Whether CSV begins with a byte order mark. */
  readonly bom?: boolean;
  /** Path of the file that holds the signing secret. `SLUICE_WEBHOOK_SECRET` wins. */
  readonly secretFile?: string;
  /** Path of a file with headers to send along to a service. */
  readonly headerFile?: string;
  /** Hosts, addresses or CIDRs of services that may be private, or without https. */
  readonly allowAddress?: List;
  /** Requests to a service at once. */
  readonly deliveries?: Count;
  /** Records in one request to a service. */
  readonly batch?: Count;
  /** More dead letters end a forward. */
  readonly maxDeadLetters?: Count;
  /** What becomes of later records with the key of a dead letter. */
  readonly onDead?: 'continue' | 'park';
  /** Where a cursor expired: fail, or do that part over. */
  readonly onExpired?: 'fail' | 'restart-partition';
  /** Pages between two commits. */
  readonly commitEvery?: Count;
  /** Whether state is kept on a network file system too, at your own risk. */
  readonly trustFilesystem?: boolean;
  /** From one poll to the next: `30s`. */
  readonly every?: string;
  /** Puts each poll off by up to this share of `every`, 0 to 1. */
  readonly jitter?: Count;
  /** Failed polls in a row that are survived. */
  readonly maxFailures?: Count;
  /** How progress is shown. */
  readonly progress?: 'bar' | 'plain' | 'json' | 'none';
  /** Whether nothing but faults is told. */
  readonly quiet?: boolean;
}

/**
 * Names the types of a configuration, so that an editor knows them. It answers what it is given.
 *
 * A configuration is code that runs with the rights of whoever runs `sluice`; `--no-config` keeps it out.
 *
 * @example
 * // sluice.config.ts
 * export default defineConfig({
 *   plugins: [coins({ baseUrl: 'https://coins.example.com' })],
 *   defaults: { rate: '25/s', concurrency: 4 },
 * });
 */
export function defineConfig(config: SluiceConfig): SluiceConfig {
  return config;
}
