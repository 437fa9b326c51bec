import { setTimeout as sleep } from 'node:timers/promises'
import type { Server } from '../host/processes.ts'
import { requestsWith } from '../servers/requests.ts'

/** More than an import applies during a measurement. */
const animalCount = 20_000
const leadMs = 300

const lines = Array.from({ length: animalCount }, (_, at) => `Import ${at},Dogs,Labrador,female,2024-05-01`)
const csv = ['name,category,breed,sex,birth date', ...lines].join('\n')

/** Measures while a file is applied. The file is checked before, and what is not applied is discarded. */
export async function duringImport<T>({ port }: Server, key: string, measure: () => Promise<T>): Promise<T> {
  const send = async (method: string, path: string, body?: string) => {
    const headers = { ...requestsWith(key).list.headers, 'Content-Type': 'text/csv' }
    const url = `http://127.0.0.1:${port}/v1/imports${path}`
    const response = await fetch(url, { method, headers, ...(body !== undefined && { body }) })
    if (!response.ok) throw new Error(`${method} /imports returned ${response.status}.`)
    return (response.status === 204 ? {} : await response.json()) as { id?: string; state?: string }
  }
  const { id } = await send('POST', '?createCategories=true', csv)
  try {
    await send('POST', `/${id}/apply`)
    await sleep(leadMs)
    const measured = await measure()
    const { state } = await send('GET', `/${id}`)
    if (state !== 'applying') throw new Error('The import ended before the measurement.')
    return measured
  } finally {
    await send('DELETE', `/${id}`)
  }
}
