/**
 * State, sinks and address guards that need Node.
 *
 * @module @sluice/core/node
 */

// Declarations name types of the main entry, see there.
export type {} from '../index.js';

// Sinks
export { fileSink, type FileTarget } from './fileSink.js';
export { streamSink } from './streamSink.js';
export type { Gzip } from './files/byteBlocks.js';

// State
export { fileState, type FileState, type FileStateOptions } from './fileState.js';
export type { LockHolder } from './folderLock.js';
export { locksEndWithProcess } from './claims.js';

// Limits
export { budgets, type BudgetPlaceOptions } from './budgets.js';
export { machineBootClock } from './bootClock.js';

// The disk
export {
  nodeFileSystem,
  unlessAbsent,
  type FileRights,
  type FileSystem,
  type WritableFile,
} from './files/fileSystem.js';
export { AppendFile, decodeFilePosition, type FilePosition } from './files/appendFile.js';
export { withPath } from './files/diskFault.js';
export { readLines, readPieces, readBytes, splitLines, withFile, readWhole, type FileLine } from './files/readFile.js';
export { PartFile } from './files/partFile.js';
export { writeWhole } from './files/wholeFile.js';

// Addresses
export { addressGuard, type AddressGuardOptions, type UrlGuard } from './addresses/addressGuard.js';
