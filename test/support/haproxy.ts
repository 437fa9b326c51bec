import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { eventually } from './eventually.ts'
import { freePort } from './postgresPrograms.ts'
import { folderFor } from './servers.ts'

/** Debian installs HAProxy where only root finds it. */
const env = { PATH: `${process.env.PATH}:/usr/sbin:/usr/local/sbin` }

export function assertHaproxyInstalled(): void {
  if (spawnSync('haproxy', ['-v'], { env }).status === 0) return
  throw new Error('This test needs HAProxy. Install it, on Debian and Ubuntu with: apt-get install haproxy')
}

type Shipped = {
  /** In deploy/haproxy/. */
  readonly file: string
  readonly port: number
  /** What its servers have before a number and their port. */
  readonly server: string
}
const toPostgres: Shipped = { file: 'postgres.cfg', port: 5432, server: 'postgres' }
export const toPetstore: Shipped = { file: 'haproxy.cfg', port: 8080, server: 'petstore' }

/** HAProxy with a configuration in deploy/, in front of servers on these ports. */
export async function haproxyFor(
  t: Pick<TestContext, 'after'>,
  serverPorts: readonly number[],
  { file: name, port: shippedPort, server } = toPostgres,
) {
  const shipped = new URL(`../../deploy/haproxy/${name}`, import.meta.url)
  const port = await freePort()
  let config = readFileSync(shipped, 'utf8')
  const replace = (text: string, replacement: string) => {
    if (config.split(text).length !== 2) throw new Error(`"${text}" must occur once in ${shipped.pathname}.`)
    config = config.replace(text, replacement)
  }
  replace(` bind :${shippedPort}\n`, ` bind 127.0.0.1:${port}\n`)
  for (const [index, serverPort] of serverPorts.entries())
    replace(` ${server}-${index + 1}:${shippedPort}`, ` 127.0.0.1:${serverPort}`)
  const file = join(folderFor(t), 'haproxy.cfg')
  writeFileSync(file, config)
  const haproxy = spawn('haproxy', ['-db', '-f', file], { env, stdio: ['ignore', 'pipe', 'pipe'] })
  const kill = () => haproxy.kill('SIGKILL')
  process.once('exit', kill)
  let log = ''
  for (const stream of [haproxy.stdout, haproxy.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => {
      log += text
    })
  const ended = once(haproxy, 'close')
  t.after(async () => {
    kill()
    process.off('exit', kill)
    await ended
  })
  await eventually('HAProxy accepts connections', async () => {
    if (haproxy.exitCode !== null) throw new Error(`HAProxy did not start.\n${log}`)
    return canConnect(port)
  })
  return { port, log: () => log }
}

async function canConnect(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1')
  try {
    await once(socket, 'connect')
    return true
  } catch {
    return false
  } finally {
    socket.destroy()
  }
}
