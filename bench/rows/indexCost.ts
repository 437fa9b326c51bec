/** Row 4b: creates while the search index follows them, against creates without updates of the index. */
import { readKey, seededDatabase } from '../data/databases.ts'
import { type Server, stopAll } from '../host/processes.ts'
import { compareRounds, describeRounds } from '../measure/comparison.ts'
import type { Measurement } from '../measure/context.ts'
import { measureRounds } from '../measure/rounds.ts'
import { requestsWith } from '../servers/requests.ts'
import { startService } from '../servers/service.ts'
import { rows } from '../targets.ts'

export const indexCost: Measurement = {
  rows: [rows.createIndexed],
  async run(context) {
    const { cores, checkout } = context
    const request = requestsWith(readKey(await seededDatabase(checkout))).create
    const servers: Server[] = []
    try {
      servers.push(await startService(cores, checkout))
      servers.push(await startService(cores, checkout, { name: 'without index', isUnindexed: true }))
      const [indexed = [], unindexed = []] = await measureRounds(
        context,
        'create with the search index',
        servers.map((server) => ({ name: server.name, servers: [server], request })),
      )
      const detail = `${describeRounds(indexed)}; without updates of the index ${describeRounds(unindexed)}`
      return [compareRounds(rows.createIndexed, indexed, unindexed, detail)]
    } finally {
      await stopAll(servers)
    }
  },
}
