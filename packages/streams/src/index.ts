// The plugin
export { streams, type StreamsApi, type StreamsOptions } from './streams.js';
export type { ListStreamsOptions } from './listStreams.js';

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
