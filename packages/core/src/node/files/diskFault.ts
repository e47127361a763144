import { SinkError, SluiceError } from '../../errors.js';
import { platformCode } from '../../values.js';

/** Turns an error of the operating system into one that says what to do. `what` was tried: `written`, `opened` … */
export async function withPath<R>(call: Promise<R>, path: string, what: string): Promise<R> {
  try {
    return await call;
  } catch (error) {
    if (SluiceError.is(error)) throw error;
    const code = platformCode(error) ?? 'unknown fault';
    throw new SinkError(`${path} can't be ${what} (${code}): ${advise(code, what)}`, {
      details: { path, platformCode: code },
    });
  }
}

function advise(code: string, what: string): string {
  switch (code) {
    case 'ENOSPC':
    case 'EDQUOT':
      return 'the disk is full. Make room, then run it again.';
    case 'EFBIG':
      return 'the file reached the largest size that is allowed here. Raise the limit (ulimit -f), then run it again.';
    case 'EACCES':
    case 'EPERM':
    case 'EROFS':
      return what === 'opened'
        ? 'there is no permission to open it.'
        : 'there is no permission to write here. Choose another folder.';
    case 'ENOENT':
      return what === 'created' ? 'this folder takes no files. Choose another one.' : 'it no longer exists.';
    case 'EEXIST':
      return 'it exists already.';
    case 'ENOTDIR':
      return 'a part of the path is a file, not a folder.';
    case 'ELOOP':
      return 'it is a link, and links are not followed here. Remove it, or choose another path.';
    case 'EFTYPE':
    case 'EISDIR':
      return 'it is not a regular file, and its name is needed. Move it away, then run it again.';
    case 'ENAMETOOLONG':
      return 'the name is too long.';
    default:
      return 'check the disk, then run it again.';
  }
}
