import { spawn, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { connect } from 'node:tls'
import { eventually } from '../support/eventually.ts'
import { freePort } from '../support/postgresPrograms.ts'
import { folderFor } from '../support/servers.ts'

const shipped = new URL('../../deploy/caddy/Caddyfile', import.meta.url)

export type Caddy = {
  readonly base: string
  /** The certificate of its internal authority. */
  readonly authority: string
  log(): string
}

export function assertCaddyInstalled(): void {
  if (spawnSync('caddy', ['version']).status === 0) return
  throw new Error('This test needs Caddy. Install it, on Debian and Ubuntu with: apt-get install caddy')
}

/** Caddy with the configuration in deploy/ and certificates of its internal authority, in front of a service. */
export async function caddyFor(t: Pick<TestContext, 'after'>, servicePort: string): Promise<Caddy> {
  const folder = folderFor(t)
  const [httpPort, httpsPort] = [await freePort(), await freePort()]
  let config = readFileSync(shipped, 'utf8')
  const replace = (text: string, replacement: string) => {
    if (config.split(text).length !== 2) throw new Error(`"${text}" must occur once in ${shipped.pathname}.`)
    config = config.replace(text, replacement)
  }
  const options = [
    ...['admin off', 'skip_install_trust', 'default_bind 127.0.0.1'],
    ...[`http_port ${httpPort}`, `https_port ${httpsPort}`, `storage file_system ${folder}`],
  ]
  replace('\n{\n', `\n{\n${options.join('\n')}\n`)
  replace('\npetstore.example {\n', '\nlocalhost {\ntls internal\n')
  replace('127.0.0.1:8080', `127.0.0.1:${servicePort}`)
  const file = join(folder, 'Caddyfile')
  writeFileSync(file, config)
  const caddy = spawn('caddy', ['run', '--config', file, '--adapter', 'caddyfile'], {
    env: { ...process.env, HOME: folder },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  const kill = () => caddy.kill('SIGKILL')
  process.once('exit', kill)
  let log = ''
  caddy.stderr.setEncoding('utf8').on('data', (text: string) => {
    log += text
  })
  const ended = once(caddy, 'close')
  t.after(async () => {
    kill()
    process.off('exit', kill)
    await ended
  })
  await eventually('Caddy has a certificate', () => {
    if (caddy.exitCode !== null) throw new Error(`Caddy did not start.\n${log}`)
    return log.includes('certificate obtained successfully')
  }).catch((error: Error) => {
    throw new Error(`${error.message}\n${log}`)
  })
  const authority = readFileSync(join(folder, 'pki/authorities/local/root.crt'), 'utf8')
  return { base: `https://localhost:${httpsPort}`, authority, log: () => log }
}

/** The hash of the public key of its certificate, in base64. */
export async function publicKeyHash({ base, authority }: Caddy): Promise<string> {
  const { hostname: host, port } = new URL(base)
  const socket = connect({ host, port: Number(port), servername: host, ca: authority })
  await once(socket, 'secureConnect')
  const key = socket.getPeerX509Certificate()?.publicKey.export({ type: 'spki', format: 'der' })
  socket.destroy()
  if (!key) throw new Error('Caddy has no certificate.')
  return createHash('sha256').update(key).digest('base64')
}
