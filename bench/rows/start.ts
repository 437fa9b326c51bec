/** Row 11: how long from the command to the first answer, on a store of 100,000 animals, files in the system's memory. */
import { setTimeout as pause } from 'node:timers/promises'
import type { Bench } from '../bench.ts'
import { type Figure, rows } from '../figures.ts'
import { ask, requestText } from '../load/client.ts'
import { freePort } from '../processes.ts'
import { requestsWith } from '../requests.ts'
import { startService } from '../servers.ts'
import { spreadOf } from '../statistics.ts'
import { copyOf, keyIn, petstoreStore } from '../stores.ts'

const retryMs = 2
const waitMaxMs = 30_000

export async function start(bench: Bench): Promise<Figure[]> {
  const { options, progress } = bench
  const folder = copyOf(await petstoreStore())
  const { list } = requestsWith(keyIn(folder))
  const healthMs: number[] = []
  const listMs: number[] = []
  const times = options.isQuick ? 3 : 9
  for (let time = -1; time < times; time++) {
    const port = await freePort()
    const started = performance.now()
    const starting = startService(bench.cores, { folder, env: { PORT: String(port) } })
    // It never answers where it could not be started: then the reason is what counts.
    const died = starting.then(() => new Promise<never>(() => {}))
    const first = (path: string, headers = {}) =>
      Promise.race([untilOk(port, requestText('GET', path, headers), started), died])
    const health = await first('/healthz')
    const listed = await first(list.path, list.headers)
    await (await starting).stop()
    progress(`start: ${time < 0 ? 'warming up' : `${time + 1} of ${times}`}, ${health.toFixed(0)} ms`)
    // The first brings the files into the system's memory.
    if (time < 0) continue
    healthMs.push(health)
    listMs.push(listed)
  }
  const detail = `median of ${times} starts, on the server's core`
  return [
    { row: rows.startHealth, found: spreadOf(healthMs), detail },
    { row: rows.startList, found: spreadOf(listMs), detail },
  ]
}

/** Milliseconds since the start until this is answered with 200. */
async function untilOk(port: number, text: string, started: number): Promise<number> {
  let last = ''
  while (performance.now() - started < waitMaxMs) {
    const reply = await ask(port, text).catch((error: unknown) => String(error))
    if (typeof reply !== 'string' && reply.status === 200) return performance.now() - started
    last = typeof reply === 'string' ? reply : reply.head
    await pause(retryMs)
  }
  throw new Error(`The service did not answer in time: ${last}`)
}
