/** Rows 17 and 18: photos served and uploaded, with SQLite. */
import { createHash } from 'node:crypto'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { petstore } from '../data/checkout.ts'
import { copyDir, createRunDir, readKey, seededDatabase } from '../data/databases.ts'
import { makePhoto } from '../data/photos.ts'
import { runProgram, type Server, stopAll } from '../host/processes.ts'
import { residentMb } from '../host/usage.ts'
import type { RequestSpec } from '../load/load.ts'
import { compareRounds, describeRounds } from '../measure/comparison.ts'
import { type BenchContext, isSelected, type Measurement } from '../measure/context.ts'
import { failedResult, type Result } from '../measure/result.ts'
import { measureRounds } from '../measure/rounds.ts'
import { startBare } from '../servers/bare.ts'
import { requestsWith } from '../servers/requests.ts'
import { startService } from '../servers/service.ts'
import { median } from '../statistics.ts'
import { rows } from '../targets.ts'

const uploads = 1_000
const quickUploads = 20
const photosPerPet = 20
const differentPhotos = 5
/** The service limits the requests for photos of an address, so the load comes from many behind a proxy. */
const addresses = 250
const proxyEnv = { PETSTORE_TRUSTED_PROXIES: '127.0.0.1' }

export const photos: Measurement = {
  rows: [rows.photo, rows.photoUploads],
  async run(context) {
    const results: Result[] = []
    const parts = [
      [rows.photo, measureServing],
      [rows.photoUploads, measureUploads],
    ] as const
    for (const [row, measure] of parts)
      if (isSelected(context, row))
        results.push(await measure(context).catch((error: unknown) => failedResult(row, error)))
    return results
  },
}

async function measureServing(context: BenchContext): Promise<Result> {
  const { cores } = context
  const { service, key } = await startWithPhotos(context)
  const servers = [service]
  try {
    const { urls } = await upload(service, key, 1, await makePhoto())
    const request: RequestSpec = {
      method: 'GET',
      path: new URL(urls[640], 'http://127.0.0.1').pathname,
      headers: { 'X-Forwarded-For': '10.0.0.{id}' },
      ids: addresses,
      status: 200,
    }
    const bare = await startBare(cores, service, request)
    servers.push(bare)
    const [ours = [], theirs = []] = await measureRounds(
      context,
      'photo',
      servers.map((server) => ({ name: server.name, servers: [server], request })),
    )
    return compareRounds(rows.photo, ours, theirs, `${describeRounds(ours)}; bare ${describeRounds(theirs)}`)
  } finally {
    await stopAll(servers)
  }
}

async function startWithPhotos({ cores, checkout }: BenchContext) {
  const dataDir = copyDir(await seededDatabase(checkout))
  const service = await startService(cores, checkout, { dataDir, env: proxyEnv })
  return { service, dataDir, key: readKey(dataDir) }
}

type Uploaded = { readonly id: string; readonly urls: Readonly<Record<640, string>> }

async function upload({ port }: Server, key: string, petId: number, photo: Buffer): Promise<Uploaded> {
  const response = await fetch(`http://127.0.0.1:${port}/v1/pets/${petId}/photos`, {
    method: 'POST',
    headers: { ...requestsWith(key).list.headers, 'Content-Type': 'image/jpeg' },
    body: new Uint8Array(photo),
  })
  if (response.status !== 201)
    throw new Error(`An upload returned ${response.status}: ${await response.text()}`)
  return (await response.json()) as Uploaded
}

async function measureUploads(context: BenchContext): Promise<Result> {
  const { options, progress } = context
  const { service, dataDir, key } = await startWithPhotos(context)
  try {
    const files = await Promise.all(Array.from({ length: differentPhotos }, makePhoto))
    const count = options.isQuick ? quickUploads : uploads
    const petOf = (index: number) => 1 + Math.floor(index / photosPerPet)
    const ids = new Set<string>()
    const before = residentMb(service.pid)
    const growthMb: number[] = []
    const timesMs: number[] = []
    for (let index = 0; index < count; index++) {
      const startedAt = performance.now()
      const photo = files[index % files.length] as Buffer
      ids.add((await upload(service, key, petOf(index), photo)).id)
      timesMs.push(performance.now() - startedAt)
      growthMb.push(residentMb(service.pid) - before)
      if ((index + 1) % photosPerPet === 0) progress(`photos: ${index + 1} of ${count} uploaded`)
    }
    const lost = ids.difference(await listedPhotos(service, key, petOf(count - 1))).size
    const value = Math.max(...growthMb)
    const restored = (await isRestoredAlike(context, dataDir)) ? 'the same' : '**other**'
    const growth = `${growthMb.at(-1)?.toFixed(0)} MB at the end, from ${before.toFixed(0)} MB`
    return {
      row: rows.photoUploads,
      measured: { value, min: Math.min(...growthMb), max: value },
      detail: `${count} photos of 12 megapixels, ${median(timesMs).toFixed(0)} ms each; ${growth}; ${lost} lost; a restored backup has ${restored} bytes`,
      ...(lost > 0 && { problem: `${lost} photos were lost.` }),
    }
  } finally {
    await stopAll([service])
  }
}

async function listedPhotos({ port }: Server, key: string, lastPet: number): Promise<Set<string>> {
  const ids = new Set<string>()
  for (let petId = 1; petId <= lastPet; petId++) {
    const { headers } = requestsWith(key).list
    const response = await fetch(`http://127.0.0.1:${port}/v1/pets/${petId}/photos`, { headers })
    for (const { id } of (await response.json()) as Uploaded[]) ids.add(id)
  }
  return ids
}

/** Backs up the database of the running service, restores it and compares all files. */
async function isRestoredAlike({ checkout }: BenchContext, dataDir: string): Promise<boolean> {
  const backup = join(createRunDir(), 'backup.db')
  const restoredDir = createRunDir()
  await runProgram(petstore(checkout, 'backup', backup), { PETSTORE_DATA_DIR: dataDir })
  await runProgram(petstore(checkout, 'restore', backup), { PETSTORE_DATA_DIR: restoredDir })
  return hashOfFiles(restoredDir) === hashOfFiles(dataDir)
}

function hashOfFiles(dataDir: string): string {
  const database = new DatabaseSync(join(dataDir, 'petstore.db'), { readOnly: true })
  const hash = createHash('sha256')
  const statement = database.prepare('SELECT photo_id, name, bytes FROM photo_files ORDER BY photo_id, name')
  for (const { photo_id, name, bytes } of statement.iterate())
    hash.update(`${photo_id} ${name} `).update(bytes as Uint8Array)
  database.close()
  return hash.digest('hex')
}
