/**
 * A project's EVM streams, and the changes of their statuses.
 *
 * @module @sluice/streams
 */

// The plugin
export { streams, type StreamsApi, type StreamsOptions } from './streams.js';
export type { ListStreamsOptions } from './listStreams.js';

// Changes
export { statusChanges, type StatusChange } from './statusChanges.js';

// Rules
export { streamRules } from './streamRules.js';

// Records
export {
  evmStreamSchema,
  type AbiEntry,
  type AbiInput,
  type AbiOutput,
  type AdvancedOptions,
  type EvmStream,
  type NativeBalances,
  type Trigger,
} from './evmStream.js';
