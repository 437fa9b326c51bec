/** Row 19a: the adoption page from memory, with SQLite. */
import sharp from 'sharp'
import { createKey } from '../data/checkout.ts'
import { copyDir, petCount, readKey, seededDatabase } from '../data/databases.ts'
import { type Server, stopAll } from '../host/processes.ts'
import type { RequestSpec } from '../load/load.ts'
import { compareRounds, describeRounds } from '../measure/comparison.ts'
import type { BenchContext, Measurement } from '../measure/context.ts'
import { failedResult, type Result } from '../measure/result.ts'
import { measureRounds } from '../measure/rounds.ts'
import { requestsWith } from '../servers/requests.ts'
import { startService } from '../servers/service.ts'
import { rows } from '../targets.ts'

const animalsOnPage = 24
/** The service limits the requests of an address, so the load comes from as many as it counts, behind a proxy. */
const addresses = 9_999
const env = { PETSTORE_TRUSTED_PROXIES: '127.0.0.1' }

/** As a browser requests it. */
const pageRequest: RequestSpec = {
  method: 'GET',
  path: '/adopt',
  headers: { 'X-Forwarded-For': '2001:db8:0:{id}::1', 'Accept-Encoding': 'gzip' },
  ids: addresses,
  status: 200,
}

export const adoptionPage: Measurement = {
  rows: [rows.adoptionPage],
  run: async (context) => [
    await measure(context).catch((error: unknown) => failedResult(rows.adoptionPage, error)),
  ],
}

async function measure(context: BenchContext): Promise<Result> {
  const { cores, checkout } = context
  const dataDir = copyDir(await seededDatabase(checkout))
  const key = readKey(dataDir)
  const managing = ['--scope', 'keys:manage', '--scope', 'pets:write']
  const managerKey = await createKey(checkout, { PETSTORE_DATA_DIR: dataDir }, ...managing)
  const service = await startService(cores, checkout, { dataDir, env })
  try {
    await describeAnimals(service, managerKey)
    const servers = [service]
    const [page = [], list = []] = await measureRounds(context, 'adoption page', [
      { name: 'adoption page', servers, request: pageRequest },
      { name: 'list', servers, request: requestsWith(key).list },
    ])
    const detail = `${describeRounds(page)}; list ${describeRounds(list)}`
    return compareRounds(rows.adoptionPage, page, list, detail)
  } finally {
    await stopAll([service])
  }
}

/** Gives the animals of the first page a profile and a photo, and turns the page on. */
async function describeAnimals({ port }: Server, key: string): Promise<void> {
  const color = { create: { width: 640, height: 480, channels: 3, background: '#c08040' } } as const
  const photo = await sharp(color).jpeg().toBuffer()
  const send = async (method: string, path: string, type: string, body: string | Uint8Array<ArrayBuffer>) => {
    const headers = { ...requestsWith(key).list.headers, 'Content-Type': type }
    const response = await fetch(`http://127.0.0.1:${port}/v1${path}`, { method, headers, body })
    if (!response.ok)
      throw new Error(`${method} ${path} returned ${response.status}: ${await response.text()}`)
  }
  const change = (path: string, fields: object) =>
    send('PATCH', path, 'application/json', JSON.stringify(fields))
  const breed = { species: 'dog', breeds: ['Labrador Retriever'], sex: 'female', birthDate: '2024-05-01' }
  for (let id = petCount; id > petCount - 2 * animalsOnPage; id--) {
    await change(`/pets/${id}/profile`, { ...breed, description: 'She likes long walks. '.repeat(40) })
    await send('POST', `/pets/${id}/photos`, 'image/jpeg', new Uint8Array(photo))
  }
  await change('/store/profile', {
    name: 'Second Chance Shelter',
    email: 'a@shelter.example',
    adoptionPage: true,
  })
}
