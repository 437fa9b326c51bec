import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { lines } from '../support/commands.ts'
import { preloadOption, spawnPetstore } from '../support/process.ts'
import { folderFor, serverFor } from '../support/servers.ts'

const adminKey = 'the-admin-key-of-the-large-import'

test('a large file is imported in bounded memory while a server answers', async (t) => {
  const count = 50_000
  const file = join(folderFor(t), 'large.ndjson')
  const line = (id: number) =>
    `{"id":${id},"name":"Pet ${id}","categoryId":${id % 50},"externalId":"e${id}"}\n`
  writeFileSync(file, Array.from({ length: count }, (_, at) => line(at + 1)).join(''))
  const server = await serverFor(t, { PETSTORE_ADMIN_KEY: adminKey })
  // In KiB.
  const report = 'process.on("exit",()=>console.log(process.resourceUsage().maxRSS))'
  const { ended } = spawnPetstore(['import', file, '--json'], server.databaseEnv, {
    nodeOptions: [preloadOption(report)],
  })
  let isImporting = true
  const statuses = new Set<number>()
  const reader = (async () => {
    while (isImporting) {
      statuses.add((await server.request('GET', '/v1/pets?limit=5', { key: adminKey })).status)
      const body = { name: 'during the import', categoryId: 1 }
      statuses.add((await server.request('POST', '/v1/pets', { key: adminKey, body })).status)
    }
  })()
  const { code, stdout, stderr } = await ended
  isImporting = false
  await reader
  assert.equal(code, 0, stderr)
  const [result = '', maxRss] = lines(stdout)
  assert.equal(JSON.parse(result).pets, count)
  assert.deepEqual([...statuses].toSorted(), [200, 201])
  assert.ok(Number(maxRss) < 200 * 1024, `${maxRss} KiB`)
})
