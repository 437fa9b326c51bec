/** A minimal `node:http` server that sends the response in the file BENCH_RESPONSE to each request. */
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { RecordedResponse } from '../servers/recordedResponse.ts'

const { status, headers, body, encoding }: RecordedResponse = JSON.parse(
  readFileSync(process.env.BENCH_RESPONSE ?? '', 'utf8'),
)
const content = encoding === 'utf8' ? body : Buffer.from(body, encoding)
const flatHeaders = headers.flat()

const server = createServer((_request, response) => {
  response.writeHead(status, flatHeaders)
  response.end(content)
})
// The value of the service, because Node sends it in the Keep-Alive header.
server.keepAliveTimeout = 65_000
server.listen(Number(process.env.PORT ?? 0), '127.0.0.1', () =>
  console.log(`http://127.0.0.1:${(server.address() as AddressInfo).port}`),
)
