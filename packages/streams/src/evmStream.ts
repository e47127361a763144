import type { RowSchema } from '@sluice/core';

/**
 * An EVM stream of a project: a webhook, its filters and its status. The reference gives no types, so any field but
 * `id` may be `null`, absent or of another shape. Unknown fields are kept. Some fields are lists in the live service
 * and single objects in the reference; both are kept as they are.
 *
 * @example
 * declare const stream: EvmStream;
 * const triggers = [stream.triggers ?? []].flat(); // a list, whichever it was
 */
export interface EvmStream {
  /** Unique in the project. */
  readonly id: string | number;
  /** The API documents no closed list of values, so expect unknown ones. */
  readonly status?: string | null;
  /** Explains the status, e.g. why a stream failed. */
  readonly statusMessage?: string | null;
  /** The URL that the stream delivers to. */
  readonly webhookUrl?: string | null;
  readonly description?: string | null;
  /** The stream's label. */
  readonly tag?: string | null;
  /** Event signatures that the stream listens to. */
  readonly topic0?: readonly string[] | null;
  /** Whether it covers all addresses. */
  readonly allAddresses?: boolean | null;
  /** Whether it delivers native transactions. */
  readonly includeNativeTxs?: boolean | null;
  /** Whether it delivers the logs of contracts. */
  readonly includeContractLogs?: boolean | null;
  /** Whether it delivers internal transactions. */
  readonly includeInternalTxs?: boolean | null;
  /** Whether it delivers all logs of a transaction, not only the matching ones. */
  readonly includeAllTxLogs?: boolean | null;
  /** The native balances that are delivered too. */
  readonly getNativeBalances?: readonly NativeBalances[] | NativeBalances | null;
  /** The contract interface that decodes the logs. */
  readonly abi?: readonly AbiEntry[] | AbiEntry | null;
  /** Options per event signature. */
  readonly advancedOptions?: readonly AdvancedOptions[] | AdvancedOptions | null;
  /** Chains that it listens to, e.g. `0x1`. */
  readonly chainIds?: readonly string[] | null;
  /** Whether it is a demonstration stream. */
  readonly demo?: boolean | null;
  /** Contract calls whose results are delivered too. */
  readonly triggers?: readonly Trigger[] | Trigger | null;
  readonly [field: string]: unknown;
}

/** Which native balances a stream delivers. */
export interface NativeBalances {
  /** Names of the fields whose addresses are looked up. */
  readonly selectors?: readonly string[] | null;
  /** When they are looked up, e.g. for a transaction or a log. */
  readonly type?: string | null;
}

/** Options for one event signature. */
export interface AdvancedOptions {
  readonly topic0?: string | null;
  /** Selects the events to deliver: a tree of conditions. */
  readonly filter?: unknown;
  /** Whether native transactions are delivered for this signature. */
  readonly includeNativeTxs?: boolean | null;
}

/** One function or event of a contract interface. */
export interface AbiEntry {
  /** Whether an event leaves out its signature topic. */
  readonly anonymous?: boolean | null;
  /** Whether a function changes no state (older compilers). */
  readonly constant?: boolean | null;
  readonly inputs?: readonly AbiInput[] | AbiInput | null;
  readonly name?: string | null;
  readonly outputs?: readonly AbiOutput[] | AbiOutput | null;
  /** Whether a function takes native currency (older compilers). */
  readonly payable?: boolean | null;
  /** `pure`, `view`, `nonpayable` or `payable`. */
  readonly stateMutability?: string | null;
  /** `function`, `event`, `constructor`, … */
  readonly type?: string | null;
  /** Gas that a call is expected to use. */
  readonly gas?: number | null;
}

/** A parameter of a function or event. */
export interface AbiInput extends AbiOutput {
  /** Whether an event's parameter is a topic. */
  readonly indexed?: boolean | null;
  /** The members of a tuple. */
  readonly components?: readonly AbiInput[] | null;
}

/** A result of a function. */
export interface AbiOutput {
  readonly name?: string | null;
  /** The Solidity type, e.g. `uint256`. */
  readonly type?: string | null;
  /** The members of a tuple. */
  readonly components?: readonly AbiOutput[] | null;
  /** The type as written in the source, e.g. a struct's name. */
  readonly internalType?: string | null;
}

/** A contract call made for each delivery. */
export interface Trigger {
  /** What triggers the call, e.g. a transaction or a log. */
  readonly type?: string | null;
  /** The contract, or the field that has its address. */
  readonly contractAddress?: string | null;
  /** Arguments, or the fields that have them. */
  readonly inputs?: readonly unknown[] | null;
  /** The function that is called. */
  readonly functionAbi?: AbiEntry | null;
  /** Limits the call to this event signature. */
  readonly topic0?: string | null;
  /** The account that makes the call. */
  readonly callFrom?: string | null;
}

/** The columns of streams, in the order of the API's reference, what they hold, and their key. */
export const evmStreamSchema: RowSchema<EvmStream> = {
  columns: [
    'id',
    'status',
    'statusMessage',
    'webhookUrl',
    'description',
    'tag',
    'topic0',
    'allAddresses',
    'includeNativeTxs',
    'includeContractLogs',
    'includeInternalTxs',
    'includeAllTxLogs',
    'getNativeBalances',
    'abi',
    'advancedOptions',
    'chainIds',
    'demo',
    'triggers',
  ],
  types: {
    allAddresses: 'boolean',
    includeNativeTxs: 'boolean',
    includeContractLogs: 'boolean',
    demo: 'boolean',
    includeInternalTxs: 'boolean',
    includeAllTxLogs: 'boolean',
    getNativeBalances: 'json',
    topic0: 'json',
    abi: 'json',
    advancedOptions: 'json',
    chainIds: 'json',
    triggers: 'json',
  },
  key: (stream) => String(stream.id),
  statusOf: ({ status }) => status,
  nameOf: ({ tag }) => tag,
};
