import { matchesAny } from './etag.ts'
import type { Outgoing } from './incoming.ts'
import type { Answer } from './operation.ts'

/** A caller who knows the answer already is told just that. */
export function notModified(method: string, known: string | undefined, result: Answer): Answer {
  const etag = result.headers?.ETag
  if (etag === undefined || known === undefined || result.status !== 200) return result
  if ((method !== 'GET' && method !== 'HEAD') || !matchesAny(known, etag)) return result
  return { status: 304, ...(result.headers && { headers: result.headers }) }
}

/** The answer, with the headers that all answers have; those are given away. */
export function toOutgoing(
  method: string,
  all: Record<string, string>,
  { status, json, stream, headers }: Answer,
): Outgoing {
  const ownLink = all.Link
  if (headers) Object.assign(all, headers)
  if (ownLink !== undefined && headers?.Link !== undefined) all.Link = `${headers.Link}, ${ownLink}`
  if (status === 401) all['WWW-Authenticate'] = 'Bearer'
  if (stream) {
    all['Content-Type'] = 'text/event-stream; charset=utf-8'
    // Proxies that collect answers before they pass them on would hold a stream back.
    all['X-Accel-Buffering'] = 'no'
    // HEAD asks for the headers alone; nobody would ever read the stream.
    if (method !== 'HEAD') return { status, headers: all, stream }
    void stream.cancel()
    return { status, headers: all }
  }
  if (json === undefined) {
    delete all['Content-Type']
    return { status, headers: all }
  }
  return { status, headers: all, body: json }
}
