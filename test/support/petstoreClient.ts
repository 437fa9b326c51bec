import { Petstore, PetstoreError, type PetstoreOptions } from '../../client/src/index.ts'
import type { TestService } from './service.ts'

/** A client of the test service, by default with the operator key. */
export const clientOf = (
  service: Pick<TestService, 'base' | 'operatorKey'>,
  options: Partial<PetstoreOptions> = {},
  clock: ConstructorParameters<typeof Petstore>[1] = {},
): Petstore => new Petstore({ baseUrl: service.base, apiKey: service.operatorKey, ...options }, clock)

/** A check for `assert.rejects`. */
export const hasCode =
  (code: string) =>
  (error: unknown): boolean =>
    error instanceof PetstoreError && error.code === code

/** The clock of a service as that of a client: the time moves to the end of the shortest sleep when all tasks wait. */
export function sharedClock(service: Pick<TestService, 'now' | 'advance'>) {
  const sleepers: { at: number; wake(): void }[] = []
  let timer: NodeJS.Timeout | undefined
  function wakeNext(): void {
    timer = undefined
    sleepers.sort((a, b) => a.at - b.at)
    const next = sleepers.shift()
    if (!next) return
    service.advance(Math.max(0, next.at - service.now()))
    next.wake()
    schedule()
  }
  /** Requests on the way are complete by then: they take a few milliseconds. */
  const idleMs = 30
  function schedule(): void {
    clearTimeout(timer)
    if (sleepers.length > 0) timer = setTimeout(wakeNext, idleMs)
  }
  return {
    now: () => service.now(),
    sleep: (ms: number) =>
      new Promise<void>((wake) => {
        sleepers.push({ at: Math.ceil(service.now() + ms), wake })
        schedule()
      }),
  }
}
