import { bun, listenOnBun } from './bun.ts'
import type { Handlers, ListenAddress, ListenBounds, RunningServer } from './server.ts'

/** Opens the door, on whichever runtime this is. */
export async function listen(
  handlers: Handlers,
  place: ListenAddress,
  bounds: ListenBounds,
): Promise<RunningServer> {
  if (bun) return listenOnBun(bun, handlers, place)
  // On Bun, loading a server that is not used would take its memory all the same.
  const { listenOnNode } = await import('./node.ts')
  return listenOnNode(handlers, place, bounds)
}
