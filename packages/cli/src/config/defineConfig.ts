/**
 * Types of the command line's configuration.
 *
 * @module @sluice/cli/config
 */

import type { Plugin } from '@sluice/core';
import type { Budgets } from '@sluice/core/kit';
import type { RowFormatName } from '../options/rowFormats.js';

/** A configuration of `sluice`: the default export of `sluice.config.js`, or the content of `sluice.config.json`. */
export interface SluiceConfig {
  /**
   * Plugins, in the order in which they are set up; `false` and `null` are skipped. A string names a module whose
   * default export, or only exported function, is a plugin or creates one: a path, or a package that is installed in
   * the configuration's folder. `[module, options]` passes options to it.
   */
  readonly plugins?: readonly (Plugin | string | readonly [module: string, options: unknown] | false | null)[];
  /**
   * Where limits with windows of ten seconds or more are kept, so that they hold for all runs. Default: in the folder of
   * the user's state, `~/.local/state/sluice/limits` on Linux. `false`: nowhere, so that each run counts for itself.
   */
  readonly limits?: LimitSettings | false;
  /** Options of commands, if set neither on the command line nor in the environment. */
  readonly defaults?: Defaults;
}

/** Where limits are kept that outlive a command. */
export interface LimitSettings {
  /**
   * A folder, relative to that of the configuration, or `postgres://user@host/database`, for machines that share a limit
   * or forget their disks. In a module also a function that opens the state of a budget.
   */
  readonly place?: string | Budgets['place'];
  /** All configurations with this name share one budget. Default: one for each API and its credentials. */
  readonly name?: string;
}

type Count = number | string;
/** Items, or one string with commas between them. */
type List = readonly string[] | string;

/**
 * Options of commands by their long names. Each is parsed as on the command line, and used by every command that has
 * the option and accepts the value. Options about a single run, like `--restart` or `--to`, are refused, and so are
 * secrets.
 *
 * Paths are relative to the configuration's folder.
 */
export interface Defaults {
  /** Base URL of the streams API. `SLUICE_STREAMS_URL` takes precedence. */
  readonly streamsUrl?: string;
  /** Base URL of the Aptos NFT API. `SLUICE_APTOS_URL` takes precedence. */
  readonly aptosUrl?: string;
  /** Path of the file with the API key. `SLUICE_API_KEY` takes precedence. */
  readonly apiKeyFile?: string;
  /** Maximum request rate: `25/s`, `100/m` or `unlimited`. */
  readonly rate?: string;
  /** Maximum time for one response: `30s`. */
  readonly timeout?: string;
  /** How long to retry during an outage: `2m`, or `forever`. */
  readonly retryFor?: string;
  /** Longest pause that a service may request: `1h`. */
  readonly maxRetryAfter?: string;
  /** Stop after this time, and exit with 75 if something is left: `14m`. */
  readonly maxTime?: string;
  /** Rows per request. */
  readonly pageSize?: Count;
  /** Partitions fetched in parallel. Ignored with `--max-rows`. */
  readonly concurrency?: Count;
  /** Wallets per request. */
  readonly ownersPerRequest?: Count;
  /** Wallets. */
  readonly owner?: List;
  /** Path of a file with one wallet per line. */
  readonly ownersFile?: string;
  /** Only these collections. */
  readonly includeCollections?: List;
  /** All collections except these. */
  readonly excludeCollections?: List;
  /** Watches of streams report only changes of the status. */
  readonly only?: 'status';
  /** Columns that identify a row. */
  readonly key?: List;
  /** Format of rows or changes, unless the target's name decides it. */
  readonly format?: RowFormatName | 'text' | 'json' | 'table';
  /** Only these columns, in this order. */
  readonly columns?: List;
  /** Whether to compress files, whatever their name. */
  readonly gzip?: boolean;
  /** What to do if a file exists. */
  readonly ifExists?: 'fail' | 'overwrite';
  /** Whether CSV escapes text that a spreadsheet would run as a formula. Default `true`. */
  readonly guardFormulas?: boolean;
  /** Whether CSV has a last column with unknown fields, as JSON. */
  readonly extra?: boolean;
  /** Whether CSV starts with a byte order mark. */
  readonly bom?: boolean;
  /** Whether Parquet refuses a value that its column can't hold. */
  readonly strictTypes?: boolean;
  /** Path of the file with the signing secret. `SLUICE_WEBHOOK_SECRET` takes precedence. */
  readonly secretFile?: string;
  /** Path of a file with extra headers for a webhook. */
  readonly headerFile?: string;
  /** Hosts, addresses or CIDRs of webhooks and monitors to allow although they are private, or use http. */
  readonly allowAddress?: List;
  /** Parallel requests to a webhook. */
  readonly deliveries?: Count;
  /** Maximum rate of requests to a webhook: `10/s`, `100/m` or `unlimited`. */
  readonly deliveryRate?: string;
  /** Records per request to a webhook. */
  readonly batch?: Count;
  /** A forward fails after more dead letters than this. */
  readonly maxDeadLetters?: Count;
  /** How much may wait for a webhook while a watch goes on: `1GB`. */
  readonly maxSpool?: string;
  /** What to do with later records that have the key of a dead letter. */
  readonly onDead?: 'continue' | 'park';
  /** When a cursor has expired: fail, or fetch its partition again. */
  readonly onExpired?: 'fail' | 'restart-partition';
  /** How old the last commit of an interrupted run may be to resume after it: half of what lies between runs. `12h`. */
  readonly resumeWithin?: string;
  /** Whether the API must list as many rows as it counts. `false`: its total counts something else. */
  readonly requireTotal?: boolean;
  /** What an export does with a row that the API lists again, by its key. `keep` unless set. */
  readonly repeats?: 'keep' | 'drop' | 'fail';
  /** With mode replace or history: how many rows may be removed, as `50%`, 0.5 or a number of rows. */
  readonly maxRemoved?: Count;
  /** Pages between two commits. */
  readonly commitEvery?: Count;
  /** Whether to allow state on a network file system, at your own risk. */
  readonly trustFilesystem?: boolean;
  /** Interval between polls: `30s`. */
  readonly every?: string;
  /** Delays each poll at random by up to this share of `every`, 0 to 1. */
  readonly jitter?: Count;
  /** A watch stops after more consecutive failed polls than this. */
  readonly maxFailures?: Count;
  /** Rules of a watch, e.g. `dying: status=error for 20h again 1h deadline 24h`. */
  readonly rule?: readonly string[];
  /** Name of the rate limit that all workers share. */
  readonly limit?: string;
  /** The URL of a monitor. `SLUICE_PING` takes precedence. */
  readonly ping?: string;
  /** Path of the file with that URL. `SLUICE_PING` takes precedence. */
  readonly pingFile?: string;
  /** How to show progress. */
  readonly progress?: 'bar' | 'plain' | 'json' | 'none';
  /** Whether to show only errors. */
  readonly quiet?: boolean;
}

/**
 * Returns its argument. It gives an editor the types of a configuration.
 *
 * A configuration is code that runs with the rights of whoever runs `sluice`; `--no-config` disables it.
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
