import { isUtf8 } from 'node:buffer'
import { sendOnce, serializeRequest } from '../load/client.ts'
import type { RequestSpec } from '../load/load.ts'

/** A response of the service that a bare server replays. */
export type RecordedResponse = {
  readonly status: number
  readonly headers: readonly (readonly [string, string])[]
  readonly body: string
  /** How the body is written here. */
  readonly encoding: 'utf8' | 'base64'
  /** The size on the wire. */
  readonly bytes: number
}

/** Sends the request of a load once, with an id in the middle of the range, and checks the status. */
export async function recordResponse(
  serverName: string,
  port: number,
  request: RequestSpec,
): Promise<RecordedResponse> {
  const withId = (text: string) => text.replace('{id}', String(Math.ceil((request.ids ?? 1) / 2)))
  const path = withId(request.path)
  const sentHeaders = Object.entries(request.headers).map(([name, value]) => [name, withId(value)])
  const { status, head, body } = await sendOnce(
    port,
    serializeRequest(request.method, path, Object.fromEntries(sentHeaders), request.body),
  )
  if (status !== request.status)
    throw new Error(`${serverName} responded ${status} to ${request.method} ${path}:\n${body}`)
  const headers = head
    .split('\r\n')
    .slice(1)
    .map((line): [string, string] => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 2)])
  const encoding = isUtf8(body) ? 'utf8' : 'base64'
  return { status, headers, body: body.toString(encoding), encoding, bytes: head.length + 4 + body.length }
}

/** Checks that a bare server sends the same status, headers and body as the service. Only `Date` may differ. */
export function assertSameResponse(original: RecordedResponse, replayed: RecordedResponse): void {
  const format = ({ status, headers, body }: RecordedResponse) => {
    const lines = headers.map(([name, value]) => [name.toLowerCase(), value] as const)
    const shown = lines.map(([name, value]) => (name === 'date' ? name : `${name}: ${value}`))
    return `${status}\n${shown.toSorted().join('\n')}\n\n${body}`
  }
  if (format(original) !== format(replayed))
    throw new Error(
      `The bare server does not send the response of the service.\n--- service\n${format(original)}\n--- bare\n${format(replayed)}`,
    )
}
