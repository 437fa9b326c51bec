import { bun, listenOnBun } from './bun.ts'
import type { Handlers, ListenAddress, ListenBounds } from './server.ts'

/** Listens with the server of the current runtime. */
export async function listen(handlers: Handlers, address: ListenAddress, bounds: ListenBounds) {
  if (bun) return listenOnBun(bun, handlers, address)
  // Not loaded on Bun, which would keep it in memory unused.
  const { listenOnNode } = await import('./node.ts')
  return listenOnNode(handlers, address, bounds)
}
