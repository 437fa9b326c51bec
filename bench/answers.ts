import { writeFileSync } from 'node:fs'
import { ask, requestText } from './load/client.ts'
import type { Request } from './load.ts'

/** An answer as a bare server can send it again. */
export type Answer = {
  readonly status: number
  readonly headers: readonly (readonly [string, string])[]
  readonly body: string
}

/** What the server's own HTTP layer adds by itself. */
const ownHeaders = new Set(['date', 'connection', 'keep-alive'])

/** One request as a load would send it; `{id}` is an animal in the middle. */
async function askOnce(port: number, request: Request): Promise<Answer & { bytes: number }> {
  const path = request.path.replace('{id}', String(Math.ceil((request.ids ?? 1) / 2)))
  const { status, head, body } = await ask(
    port,
    requestText(request.method, path, request.headers, request.body),
  )
  const headers = head
    .split('\r\n')
    .slice(1)
    .map((line): [string, string] => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 2)])
  return { status, headers, body: body.toString(), bytes: head.length + 4 + body.length }
}

/** One answer, which must have the status that the load will count as good. */
export async function askWell(name: string, port: number, request: Request) {
  const answer = await askOnce(port, request)
  if (answer.status !== request.status) {
    throw new Error(`${name} answered ${answer.status} to ${request.method} ${request.path}:\n${answer.body}`)
  }
  return answer
}

export function saveAnswer(file: string, { status, headers, body }: Answer, isAll = false): void {
  const kept = headers.filter(([name]) => isAll || !ownHeaders.has(name.toLowerCase()))
  writeFileSync(file, JSON.stringify({ status, headers: kept, body } satisfies Answer))
}

/** A bare server must send what the service sends, to the letter; only the time of day may differ. */
export function mustBeAlike(real: Answer, replayed: Answer): void {
  const shown = ({ status, headers, body }: Answer) =>
    [
      String(status),
      ...headers.map(([name, value]) =>
        name.toLowerCase() === 'date' ? 'date' : `${name.toLowerCase()}: ${value}`,
      ),
    ]
      .toSorted()
      .join('\n')
      .concat('\n', body)
  if (shown(real) !== shown(replayed)) {
    throw new Error(
      `The bare server does not send what the service sends.\n--- service\n${shown(real)}\n--- bare\n${shown(replayed)}`,
    )
  }
}
