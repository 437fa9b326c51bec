import { once } from 'node:events'
import { createServer } from 'node:net'
import type { Config } from '../../config.ts'
import { isServerRunning } from '../../database/sqlite/fileLock.ts'
import { type Finding, findingsOf } from './finding.ts'

const responseMaxMs = 2_000
const { ok, warning, problem } = findingsOf('port')

/** Whether the service can listen, or is running already. */
export async function checkPort({ host, port, databaseUrl, dataDir }: Config): Promise<Finding> {
  if (await isPetstore(host, port)) return ok(`A petstore service is running on ${host} port ${port}.`)
  if (databaseUrl === undefined && isServerRunning(dataDir))
    return warning(
      `The service of ${dataDir} is running, but not on ${host} port ${port}.`,
      'Set HOST and PORT as for the service. Its start printed the port.',
    )
  const server = createServer()
  try {
    server.listen(port, host)
    await once(server, 'listening')
    return ok(`Port ${port} on ${host} is free.`)
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    if (code !== 'EADDRINUSE')
      return problem(`Cannot listen on ${host} port ${port} (${message}).`, 'Set HOST and PORT.')
    return problem(`Another program uses port ${port} on ${host}.`, 'Stop it, or set PORT.')
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
