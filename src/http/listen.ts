import { bun, listenOnBun } from './listenBun.ts'
import type { Handlers, ListenBounds, Listener, Place } from './listener.ts'

/** Opens the door, on whichever runtime this is. */
export async function listen(handlers: Handlers, place: Place, bounds: ListenBounds): Promise<Listener> {
  if (bun) return listenOnBun(bun, handlers, place)
  // On Bun, loading a server that is not used would take its memory all the same.
  const { listenOnNode } = await import('./listenNode.ts')
  return listenOnNode(handlers, place, bounds)
}
