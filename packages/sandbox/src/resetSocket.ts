import type { Socket } from 'node:net';

/**
 * Resets a connection (TCP RST); one that we are already ending is closed instead.
 *
 * libuv refuses a reset while a shutdown is pending (`EINVAL`). Node then keeps the handle for ever, and the process spins at its exit. A
 * server meets this when its peer goes away, because an HTTP server ends such a connection by itself.
 *
 * @see https://github.com/libp2p/js-libp2p/pull/3597 the same fault, found elsewhere
 */
export function resetSocket(socket: Socket | null): void {
  if (socket?.writableEnded) socket.destroy();
  else socket?.resetAndDestroy();
}
