/** Row 11: from the start of the command to the first response, with 100,000 pets and a warm file cache. */
import { setTimeout as sleep } from 'node:timers/promises'
import { copyDir, readKey, seededDatabase } from '../data/databases.ts'
import { findFreePort } from '../host/processes.ts'
import { sendOnce, serializeRequest } from '../load/client.ts'
import type { Measurement } from '../measure/context.ts'
import { requestsWith } from '../servers/requests.ts'
import { startService } from '../servers/service.ts'
import { spreadOf } from '../statistics.ts'
import { rows } from '../targets.ts'

const retryDelayMs = 2
const timeoutMs = 30_000

export const startUp: Measurement = {
  rows: [rows.startHealth, rows.startList],
  async run({ cores, checkout, options, progress }) {
    const dataDir = copyDir(await seededDatabase(checkout))
    const { list } = requestsWith(readKey(dataDir))
    const healthMs: number[] = []
    const listMs: number[] = []
    const starts = options.isQuick ? 3 : 9
    // Start 0 fills the file cache and does not count.
    for (let start = 0; start <= starts; start++) {
      const port = await findFreePort()
      const startedAt = performance.now()
      const starting = startService(cores, checkout, { dataDir, env: { PORT: String(port) } })
      // Rejects if the service fails to start, and otherwise stays pending.
      const failed = starting.then(() => new Promise<never>(() => {}))
      const firstOk = (path: string, headers = {}) =>
        Promise.race([timeToOk(port, serializeRequest('GET', path, headers), startedAt), failed])
      const health = await firstOk('/healthz')
      const listed = await firstOk(list.path, list.headers)
      await (await starting).stop()
      progress(`start-up: ${start === 0 ? 'warming up' : `${start} of ${starts}`}, ${health.toFixed(0)} ms`)
      if (start === 0) continue
      healthMs.push(health)
      listMs.push(listed)
    }
    const detail = `median of ${starts} starts on the server's core`
    return [
      { row: rows.startHealth, measured: spreadOf(healthMs), detail },
      { row: rows.startList, measured: spreadOf(listMs), detail },
    ]
  },
}

async function timeToOk(port: number, request: string, startedAt: number): Promise<number> {
  let last = ''
  while (performance.now() - startedAt < timeoutMs) {
    const response = await sendOnce(port, request).catch((error: unknown) => String(error))
    if (typeof response !== 'string' && response.status === 200) return performance.now() - startedAt
    last = typeof response === 'string' ? response : response.head
    await sleep(retryDelayMs)
  }
  throw new Error(`The service did not respond with 200 within ${timeoutMs} ms: ${last}`)
}
