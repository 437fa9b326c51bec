/** The same as node.ts on `Bun.serve`, with a handler: a static route does not run JavaScript. */
import { readFileSync } from 'node:fs'
import type { RecordedResponse } from '../servers/recordedResponse.ts'

const { status, headers, body, encoding }: RecordedResponse = JSON.parse(
  readFileSync(process.env.BENCH_RESPONSE ?? '', 'utf8'),
)
const content = encoding === 'utf8' ? body : Buffer.from(body, encoding)
const init = { status, headers: headers.map(([name, value]): [string, string] => [name, value]) }

const server = Bun.serve({
  port: Number(process.env.PORT ?? 0),
  hostname: '127.0.0.1',
  fetch: () => new Response(content, init),
})
console.log(`http://127.0.0.1:${server.port}`)
