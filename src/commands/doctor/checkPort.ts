import { once } from 'node:events'
import { createServer } from 'node:net'
import type { Config } from '../../config.ts'
import { type Finding, findingsOf } from './finding.ts'

const responseMaxMs = 2_000
const { ok, problem } = findingsOf('port')

/** Whether the service can listen, or is running already. */
export async function checkPort({ host, port }: Config): Promise<Finding> {
  const server = createServer()
  try {
    server.listen(port, host)
    await once(server, 'listening')
    return ok(`Port ${port} on ${host} is free.`)
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    if (code !== 'EADDRINUSE')
      return problem(`Cannot listen on ${host} port ${port} (${message}).`, 'Set HOST and PORT.')
    return (await isPetstore(host, port))
      ? ok(`The service is running on ${host} port ${port}.`)
      : problem(`Another program uses port ${port} on ${host}.`, 'Stop it, or set PORT.')
  } finally {
    server.close()
  }
}

async function isPetstore(host: string, port: number): Promise<boolean> {
  const name = host.includes(':') ? `[${host}]` : host
  try {
    const signal = AbortSignal.timeout(responseMaxMs)
    const response = await fetch(`http://${name}:${port}/healthz`, { signal })
    await response.body?.cancel()
    return response.ok && response.headers.has('x-request-id')
  } catch {
    return false
  }
}
