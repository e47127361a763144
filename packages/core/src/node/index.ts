// What needs Node.

// Sinks
export { fileSink, type FileTarget } from './fileSink.js';
export { streamSink } from './streamSink.js';
export type { Gzip } from './byteBlocks.js';

// The disk
export { nodeFileSystem, type FileSystem, type PathKind, type WritableFile } from './fileSystem.js';
