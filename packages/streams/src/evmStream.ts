import type { RowSchema } from '@sluice/core';

/**
 * An EVM stream of a project: a webhook, the filters that feed it, and its status. The reference gives no types, so any field but
 * `id` may be `null`, absent or of another shape, and fields that this type does not know are kept. Where the live service sends a
 * list, the reference shows a single object; both are kept as they come.
 *
 * @example
 * declare const stream: EvmStream;
 * const triggers = [stream.triggers ?? []].flat(); // a list, whichever it was
 */
export interface EvmStream {
  /** Tells this stream from all others of the project. */
  readonly id: string | number;
  /** Free text: the API names no closed list, so compare with the values that you know and expect others. */
  readonly status?: string | null;
  /** What the API says about the status, e.g. why a stream failed. */
  readonly statusMessage?: string | null;
  /** Where the stream delivers to. */
  readonly webhookUrl?: string | null;
  readonly description?: string | null;
  /** The stream's label. */
  readonly tag?: string | null;
  /** Event signatures that the stream listens for. */
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
  /** Which addresses' native balances are delivered along. */
  readonly getNativeBalances?: readonly NativeBalances[] | NativeBalances | null;
  /** The contract interface by which logs are decoded. */
  readonly abi?: readonly AbiEntry[] | AbiEntry | null;
  /** Options for single event signatures. */
  readonly advancedOptions?: readonly AdvancedOptions[] | AdvancedOptions | null;
  /** Chains that it listens on, e.g. `0x1`. */
  readonly chainIds?: readonly string[] | null;
  /** Whether it is a demonstration stream. */
  readonly demo?: boolean | null;
  /** Contract calls whose results are delivered along. */
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
  /** Which of its events are delivered: a tree of conditions. */
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
export interface AbiInput {
  readonly name?: string | null;
  /** The Solidity type, e.g. `uint256`. */
  readonly type?: string | null;
  /** Whether an event's parameter is a topic. */
  readonly indexed?: boolean | null;
  /** The members of a tuple. */
  readonly components?: readonly AbiInput[] | null;
  /** The type as written in the source, e.g. a struct's name. */
  readonly internalType?: string | null;
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
  /** What it is called for, e.g. a transaction or a log. */
  readonly type?: string | null;
  /** The contract, or the field that names it. */
  readonly contractAddress?: string | null;
  /** Arguments, or the fields that hold them. */
  readonly inputs?: readonly unknown[] | null;
  /** The function that is called. */
  readonly functionAbi?: AbiEntry | null;
  /** Only for this event signature. */
  readonly topic0?: string | null;
  /** The account in whose name it is called. */
  readonly callFrom?: string | null;
}

/** The columns of a table of streams, in the order of the API's reference, and the key. */
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
  key: (stream) => String(stream.id),
};
