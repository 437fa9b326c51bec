import { bun, listenOnBun } from './bun.ts'
import type { Handlers, ListenBounds, Listener, Place } from './server.ts'

/** Opens the door, on whichever runtime this is. */
export async function listen(handlers: Handlers, place: Place, bounds: ListenBounds): Promise<Listener> {
  if (bun) return listenOnBun(bun, handlers, place)
  // On Bun, loading a server that is not used would take its memory all the same.
  const { listenOnNode } = await import('./node.ts')
  return listenOnNode(handlers, place, bounds)
}
