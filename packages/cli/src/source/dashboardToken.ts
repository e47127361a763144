import { randomBytes, randomUUID } from 'node:crypto';
import { constants } from 'node:fs';
import { link, mkdir, open, unlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Variables } from '../environment/environment.js';
import { stateFolder } from '../environment/stateFolder.js';
import { Failure } from '../errors/errors.js';
import { codeOf, thrownText } from '../errors/thrown.js';

/** The file of the token that opens the user's dashboards. @throws Failure if no variable names a folder. */
export function tokenFile(variables: Variables): string {
  const folder = stateFolder(variables);
  if (folder !== undefined) return join(folder, 'dashboard-token');
  throw new Failure(
    `The dashboard's token needs a folder, and neither HOME nor XDG_STATE_HOME names one. Set XDG_STATE_HOME to a folder of this user.`,
  );
}

/** Reads the token, or creates it: all processes of the user get the same. @throws Failure if others may know it. */
export async function keptToken(path: string): Promise<string> {
  try {
    return (await readToken(path)) ?? (await createToken(path));
  } catch (error) {
    if (error instanceof Failure) throw error;
    throw new Failure(
      `The dashboard's token can't be stored in ${path} (${codeOf(error) ?? thrownText(error)}). Set XDG_STATE_HOME to a folder that this user can write.`,
    );
  }
}

const token = /^[\w-]{32}\n$/;
/** Flags that a system lacks count as 0. O_NONBLOCK: a FIFO would wait for its other end. */
const readable = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

/** `undefined` if there is no file. */
async function readToken(path: string): Promise<string | undefined> {
  const file = await open(path, readable).catch((error: unknown) => {
    if (codeOf(error) === 'ENOENT') return undefined;
    throw codeOf(error) === 'ELOOP' ? unsafe(path, 'is a link') : error;
  });
  if (!file) return undefined;
  try {
    const found = await file.stat();
    if (!found.isFile()) throw unsafe(path, 'is not a file');
    if (found.uid !== (process.geteuid?.() ?? found.uid)) throw unsafe(path, 'belongs to another user');
    if (process.platform !== 'win32' && (found.mode & 0o077) !== 0) throw unsafe(path, 'is open to other users');
    const { buffer, bytesRead } = await file.read(Buffer.alloc(64), 0, 64, 0);
    const text = buffer.toString('latin1', 0, bytesRead);
    if (!token.test(text)) throw unsafe(path, 'does not hold a token');
    return text.trimEnd();
  } finally {
    await file.close();
  }
}

function unsafe(path: string, what: string): Failure {
  return new Failure(
    `${path} ${what}, so the dashboard does not use it. Remove it: the next start creates a new token.`,
  );
}

/** Under a name of its own first, so that the file is complete from its first moment, and the first process wins. */
async function createToken(path: string): Promise<string> {
  const fresh = `${path}-${randomUUID()}`;
  const created = randomBytes(24).toString('base64url');
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  try {
    await writeFile(fresh, `${created}\n`, { mode: 0o600, flag: 'wx', flush: true });
    await link(fresh, path);
    return created;
  } catch (error) {
    const other = codeOf(error) === 'EEXIST' ? await readToken(path) : undefined;
    if (other === undefined) throw error;
    return other;
  } finally {
    await unlink(fresh).catch(() => undefined);
  }
}
