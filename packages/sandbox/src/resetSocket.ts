import type { Socket } from 'node:net';

/**
 * Resets a connection (TCP RST), or closes it if the server is already ending it.
 *
 * libuv refuses a reset during a shutdown (`EINVAL`); Node then keeps the handle, and the process spins at exit. This
 * can happen because an HTTP server ends a connection whose peer has disconnected.
 *
 * @see https://github.com/libp2p/js-libp2p/pull/3597 the same problem in another project
 */
export function resetSocket(socket: Socket | null): void {
  if (socket?.writableEnded) socket.destroy();
  else socket?.resetAndDestroy();
}
