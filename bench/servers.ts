import { existsSync, readFileSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { askWell, mustBeAlike, saveAnswer } from './answers.ts'
import type { Request } from './load.ts'
import { type Cores, pinned } from './machine.ts'
import { freePort, here, root, type Server, startServer } from './processes.ts'
import { copyOf, newFolder, peerStore, petstore, petstoreStore, runtime } from './stores.ts'

/** How each contestant is started: all the same way, on the server's core, by the program that users start. */

export type ServiceOptions = {
  readonly name?: string
  readonly core?: string
  readonly folder?: string
  readonly env?: Readonly<Record<string, string>>
  readonly bun?: string
}

/** The service as `npm start` starts it, on a store of its own. */
export async function startService(cores: Cores, options: ServiceOptions = {}): Promise<Server> {
  const folder = options.folder ?? copyOf(await petstoreStore())
  const command = petstore('serve')
  const given = options.bun === undefined ? runtime() : undefined
  if (options.bun !== undefined) command[0] = options.bun
  if (given) command.splice(1, 0, ...given.options)
  return startServer({
    name: options.name ?? 'petstore',
    command: pinned(cores, options.core ?? cores.server, command),
    env: { ...given?.env, PORT: '0', PETSTORE_DATA_DIR: folder, ...options.env },
  })
}

/** A server that sends one answer of the service's, again and again, byte by byte. */
export async function startBare(
  cores: Cores,
  service: Server,
  request: Request,
  bun?: string,
): Promise<Server> {
  const answer = await askWell(service.name, service.port, request)
  const file = join(newFolder(), 'answer.json')
  // Bun's own server adds nothing but the date, so what node:http adds on Bun is sent as well.
  saveAnswer(file, answer, bun !== undefined)
  const program = bun === undefined ? 'node.ts' : 'bun.ts'
  const bare = await startServer({
    name: bun === undefined ? 'bare node:http' : 'bare Bun.serve',
    command: pinned(cores, cores.server, [bun ?? process.execPath, join(here, 'bare', program)]),
    env: { PORT: '0', BENCH_ANSWER: file },
  })
  mustBeAlike(answer, await askWell(bare.name, bare.port, request))
  return bare
}

export type PeerName = 'express' | 'fastify' | 'json-server'

export async function startPeer(cores: Cores, name: PeerName): Promise<Server> {
  const folder = copyOf(await peerStore())
  const env = { NODE_ENV: 'production', PETS_FILE: join(folder, 'pets.db') }
  if (name !== 'json-server') {
    const command = [process.execPath, join(here, 'peers', `${name}.ts`)]
    return startServer({
      name: `${name} ${versionOf(name)}`,
      command: pinned(cores, cores.server, command),
      env: { ...env, PORT: '0' },
    })
  }
  const port = await freePort()
  const options = ['--host', '127.0.0.1', '--port', String(port)]
  const command = [process.execPath, programOf('json-server'), ...options, join(folder, 'pets.json')]
  return startServer({
    name: `json-server ${versionOf('json-server')}`,
    command: pinned(cores, cores.server, command),
    // It would ask the registry whether it is the newest.
    env: { NODE_ENV: 'production', NO_UPDATE_NOTIFIER: '1' },
    port,
  })
}

/** json-server has paths and parameters of its own. */
export function requestOf(name: PeerName, request: Request): Request {
  if (name !== 'json-server') return request
  const path = request.path
    .replace(/^\/v1/, '')
    .replace('?status=available', '?status=available&_sort=id&_order=desc&_limit=20')
  return { ...request, path }
}

export function versionOf(name: string): string | undefined {
  const file = packageFile(name)
  return file && JSON.parse(readFileSync(file, 'utf8')).version
}

/**
 * Bun's program lies in a package for each kind of machine, and moves into the package `bun` where scripts of packages
 * may run; here they need not.
 */
export function findBun(): string | undefined {
  const arch = process.arch === 'arm64' ? 'aarch64' : process.arch
  const libc = existsSync('/etc/alpine-release') ? '-musl' : ''
  const places = [
    join('bun', 'bin', 'bun.exe'),
    join(`@oven/bun-${process.platform}-${arch}${libc}`, 'bin', 'bun'),
  ]
  return places
    .flatMap((place) => [here, root].map((folder) => join(folder, 'node_modules', place)))
    .find((file) => existsSync(file) && statSync(file).size > placeholderMax)
}

/** What lies in the place of the program until it is moved there says in a few lines that it is not there. */
const placeholderMax = 100_000

function programOf(name: string): string {
  const file = packageFile(name)
  if (file === undefined) throw new Error(`${name} is not installed: run "npm ci".`)
  const { bin } = JSON.parse(readFileSync(file, 'utf8'))
  return join(dirname(file), typeof bin === 'string' ? bin : bin[name])
}

const packageFile = (name: string): string | undefined =>
  [here, root]
    .map((folder) => join(folder, 'node_modules', name, 'package.json'))
    .find((file) => existsSync(file))
