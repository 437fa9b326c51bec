/** The same as node.ts, on Bun's own server. A handler answers, not a fixed route, which would never reach JavaScript. */
import { readFileSync } from 'node:fs'
import type { Answer } from '../answers.ts'

declare const Bun: {
  serve(options: { port: number; hostname: string; fetch(request: Request): Response }): { port: number }
}

const { status, headers, body }: Answer = JSON.parse(readFileSync(process.env.BENCH_ANSWER ?? '', 'utf8'))

const init = { status, headers: headers.map(([name, value]): [string, string] => [name, value]) }

const server = Bun.serve({
  port: Number(process.env.PORT ?? 0),
  hostname: '127.0.0.1',
  fetch: () => new Response(body, init),
})
console.log(`http://127.0.0.1:${server.port}`)
