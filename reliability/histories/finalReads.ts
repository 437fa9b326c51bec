import { setTimeout as pause } from 'node:timers/promises'
import type { Server } from '../../test/support/servers.ts'
import { type Call, finalPrefix } from './history.ts'
import type { Recorder } from './recorder.ts'

const pageMax = 1_000
const attemptsMax = 50
const retryAfterMs = 200
/** After this time without a new event, no request with an unknown outcome takes effect any more. */
const quietMs = 1_500

/** Waits until nothing changes any more, then reads everything at each instance. */
export async function readAll(recorder: Recorder, instances: readonly Server[]): Promise<void> {
  await untilQuiet(recorder, instances[0] as Server)
  for (const [index, instance] of instances.entries()) {
    const read = (path: string) => readUntilKnown(recorder, instance, `${finalPrefix}${index + 1}`, path)
    for (let after = 0, isMore = true; isMore; ) {
      const events = (await read(`/v1/events?after=${after}&limit=${pageMax}`)).response?.body as {
        id: number
      }[]
      after = events.at(-1)?.id ?? after
      isMore = events.length === pageMax
    }
    for (const list of ['/v1/pets?limit=100', '/v1/store/orders?limit=100'])
      for (let page: string | undefined = list; page; ) page = (await read(page)).next
    await read('/v1/store/inventory')
  }
}

const lastId = ({ response }: Call): number | undefined =>
  ((response?.body ?? []) as { id: number }[]).at(-1)?.id

async function untilQuiet(recorder: Recorder, instance: Server): Promise<void> {
  let after = 0
  for (
    let quietSince = performance.now();
    performance.now() - quietSince < quietMs;
    await pause(retryAfterMs)
  ) {
    const path = `/v1/events?after=${after}&limit=${pageMax}`
    const last = lastId(await readUntilKnown(recorder, instance, 'quiet', path))
    if (last !== undefined) [after, quietSince] = [last, performance.now()]
  }
}

async function readUntilKnown(
  recorder: Recorder,
  instance: Server,
  caller: string,
  path: string,
): Promise<Call & { next?: string }> {
  for (let attempts = 1; ; attempts++) {
    const call = await recorder.send(instance, caller, { method: 'GET', path })
    if (call.outcome === 'known' && call.response?.status === 200) return call
    if (attempts === attemptsMax) throw new Error(`There is no response to GET ${path}.`)
    await pause(retryAfterMs)
  }
}
