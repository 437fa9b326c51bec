import type { IncomingMessage } from 'node:http'
import { request as httpsRequest } from 'node:https'
import { http } from '../nodeHttp.ts'
import { photoBytesMax } from '../photos/photo.ts'
import {
  addressNotAllowedMessage,
  type ConnectionOptions,
  checkedLookup,
  connectionProblem,
} from '../webhooks/connection.ts'

const fetchTimeoutMs = 20_000
const redirectsMax = 3
const redirects = [301, 302, 303, 307, 308]

/** A photo cannot be imported. The message says why. */
export class PhotoError extends Error {}

export type FetchOptions = ConnectionOptions & { readonly signal: AbortSignal; readonly timeoutMs?: number }

/** Gets a photo from an address of a file, with the rules for the addresses of webhooks. */
export async function fetchPhoto(address: string, options: FetchOptions): Promise<Uint8Array> {
  const { signal, timeoutMs = fetchTimeoutMs } = options
  const ended = AbortSignal.any([AbortSignal.timeout(timeoutMs), signal])
  try {
    return await follow(new URL(address), options, ended)
  } catch (error) {
    signal.throwIfAborted()
    // Also if it ends the body, which reports a reset connection.
    if (ended.aborted) throw new PhotoError(`It did not arrive within ${timeoutMs / 1000} seconds.`)
    if (error instanceof PhotoError) throw error
    throw new PhotoError(connectionProblem(error as Error, timeoutMs))
  }
}

/** Each redirect is checked as the first address is. */
async function follow(first: URL, options: FetchOptions, ended: AbortSignal): Promise<Uint8Array> {
  let target = first
  for (let followed = 0; followed <= redirectsMax; followed++) {
    const response = await get(target, options, ended).catch((error: Error) => {
      // Old exports have http addresses, which most servers offer over https too.
      if (target.protocol !== 'http:' || error.message !== addressNotAllowedMessage) throw error
      target = new URL(target.href.replace(/^http:/, 'https:'))
      return get(target, options, ended)
    })
    const { statusCode = 0, headers } = response
    if (statusCode === 200) return readBody(response)
    response.destroy()
    const next = redirects.includes(statusCode) ? URL.parse(headers.location ?? '', target) : null
    if (next === null) throw new PhotoError(`The response has the status ${statusCode}.`)
    target = next
  }
  throw new PhotoError(`The address redirects more than ${redirectsMax} times.`)
}

async function get(target: URL, options: FetchOptions, signal: AbortSignal): Promise<IncomingMessage> {
  if (target.protocol !== 'https:' && target.protocol !== 'http:')
    throw new PhotoError('The address must begin with https.')
  const lookup = checkedLookup(target, options, signal)
  return new Promise((resolve, reject) => {
    const outgoing = (target.protocol === 'https:' ? httpsRequest : http.request)(target, {
      headers: { Accept: 'image/jpeg, image/png, image/webp', 'User-Agent': 'Petstore-Import/1' },
      lookup,
      agent: false,
      signal,
    })
    outgoing.on('response', resolve)
    outgoing.on('error', reject)
    outgoing.on('close', () => reject(new PhotoError('There was no HTTP response.')))
    outgoing.end()
  })
}

async function readBody(response: IncomingMessage): Promise<Uint8Array> {
  const chunks: Buffer[] = []
  let length = Number(response.headers['content-length'] ?? 0) > photoBytesMax ? photoBytesMax + 1 : 0
  if (length === 0)
    for await (const chunk of response) {
      chunks.push(chunk)
      length += chunk.length
      if (length > photoBytesMax) break
    }
  if (length <= photoBytesMax) return Buffer.concat(chunks)
  response.destroy()
  throw new PhotoError(`The file has more than ${photoBytesMax / 1024 / 1024} MiB.`)
}
