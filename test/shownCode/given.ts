// Names that a code block may use without a declaration: each means the same on all pages.
import type { AptosApi, NftHolding } from '../../packages/aptos/src/index.js';
import type { Client, Flow, Position, Sink, Source, StateStore } from '../../packages/core/src/index.js';
import type { ApiPlugin } from '../../packages/core/src/define/index.js';
import type { TestFunction } from '../../packages/testing/src/index.js';
import type { coins as coinsApi } from '../../examples/plugins/coins.js';
import type { github as githubApi } from '../../examples/plugins/github.js';
import type { gitlab as gitlabApi } from '../../examples/plugins/gitlab.js';
import type { sqliteRows as sqliteRowsSink } from '../../examples/plugins/sqlite.js';
import type { Receiver, Sandbox } from '@sluice/sandbox';
import type { OpenTelemetryApi } from '../../packages/opentelemetry/src/index.js';
import type { StreamsApi } from '../../packages/streams/src/index.js';

type Coins = ReturnType<typeof coinsApi> extends ApiPlugin<'coins', infer Api> ? Api : never;

declare global {
  const apiKey: string;
  const baseUrl: string;
  const streamsUrl: string;
  const aptosUrl: string;
  const client: Client & {
    readonly streams: StreamsApi;
    readonly aptos: AptosApi;
    readonly coins: Coins;
    readonly openTelemetry: OpenTelemetryApi;
  };
  const coins: typeof coinsApi;
  const github: typeof githubApi;
  const gitlab: typeof gitlabApi;
  const ownerAddresses: readonly string[];

  const holdings: Source<NftHolding>;
  const source: Source<NftHolding>;
  const flow: Flow<NftHolding>;
  const isLarge: (nft: NftHolding) => boolean;
  const toRow: (nft: NftHolding) => { readonly name: string; readonly amount: string };
  const save: (row: NftHolding) => Promise<void>;
  const savedPosition: Position | undefined;
  const savePosition: (position: Position) => Promise<void>;

  const sink: Sink<NftHolding>;
  const state: StateStore;
  const path: string;
  const url: string;
  const secret: string;

  const sqliteRows: typeof sqliteRowsSink;

  /** Of any runner. */
  const test: TestFunction;
  const it: TestFunction;

  const sandbox: Sandbox;
  const receiver: Receiver;
}
