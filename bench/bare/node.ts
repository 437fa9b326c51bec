/** The least that a server on `node:http` can do: the same answer each time. It is read from the file in BENCH_ANSWER. */
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Answer } from '../answers.ts'

const { status, headers, body }: Answer = JSON.parse(readFileSync(process.env.BENCH_ANSWER ?? '', 'utf8'))
const flat = headers.flat()

const server = createServer((_request, response) => {
  response.writeHead(status, flat)
  response.end(body)
})
// As the service has it, since it is told to the caller in a header.
server.keepAliveTimeout = 65_000
server.listen(Number(process.env.PORT ?? 0), '127.0.0.1', () =>
  console.log(`http://127.0.0.1:${(server.address() as AddressInfo).port}`),
)
