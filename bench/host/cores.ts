import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { cpus } from 'node:os'
import { findProgram } from './programs.ts'

/**
 * Which cores run which part. The server and the load generator never share a core. PostgreSQL has a separate core if
 * there are three or more, and otherwise shares the load generator's: in production it runs on another machine.
 */
export type Cores = {
  readonly isPinned: boolean
  readonly all: string
  readonly server: string
  readonly load: string
  readonly loadCount: number
  readonly postgres: string
  /** For three instances: one core each if there are enough, otherwise the server's core for all. */
  readonly threeServers: readonly string[]
  readonly description: string
}

export function assignCores(): Cores {
  const allowed = allowedCores()
  const all = allowed.join(',')
  if (findProgram('taskset') === undefined || allowed.length < 2) {
    const reason = allowed.length < 2 ? 'only one core is available' : '`taskset` is not installed'
    return {
      isPinned: false,
      all,
      server: all,
      load: all,
      loadCount: Math.max(1, allowed.length - 1),
      postgres: all,
      threeServers: [all, all, all],
      description: `**Server and load were not pinned to different cores (${reason}). The results are not reliable.**`,
    }
  }
  const [server = 0, ...rest] = allowed
  // Hyper-threads of the server's core stay idle if there are other cores.
  const siblings = siblingsOf(server)
  const separate = rest.filter((core) => !siblings.includes(core))
  const others = separate.length > 0 ? separate : rest
  const spare = others.slice(2)
  const load = others.length > 2 ? [others[0], ...spare.slice(2)] : others.slice(0, 1)
  const postgres = others[1] ?? others[0]
  const threeServers = spare.length >= 2 ? [server, spare[0], spare[1]] : [server, server, server]
  const loadNote = separate.length === 0 ? ' (a hyper-thread of the same core)' : ''
  const postgresNote = postgres === others[0] ? ' (shared with the load)' : ''
  return {
    isPinned: true,
    all,
    server: String(server),
    load: load.join(','),
    loadCount: load.length,
    postgres: String(postgres),
    threeServers: threeServers.map(String),
    description: `Server on core ${server}, load on ${load.join(', ')}${loadNote}, PostgreSQL on ${postgres}${postgresNote}, three instances on ${[...new Set(threeServers)].join(', ')}.`,
  }
}

/** Pins a command. `taskset` executes the command in place, so the process id stays the same. */
export const pinned = (cores: Cores, where: string, command: readonly string[]): string[] =>
  cores.isPinned ? ['taskset', '-c', where, ...command] : [...command]

/** Moves this process. Processes that it starts inherit its cores. */
export function moveTo(cores: Cores, where: string): void {
  if (!cores.isPinned) return
  execFileSync('taskset', ['-acp', where, String(process.pid)], { stdio: 'ignore' })
}

function allowedCores(): number[] {
  try {
    const list = /^Cpus_allowed_list:\s*(\S+)/m.exec(readFileSync('/proc/self/status', 'utf8'))?.[1]
    return parseCoreList(list ?? '')
  } catch {
    return cpus().map((_, index) => index)
  }
}

function siblingsOf(core: number): number[] {
  try {
    const file = `/sys/devices/system/cpu/cpu${core}/topology/thread_siblings_list`
    return parseCoreList(readFileSync(file, 'utf8').trim())
  } catch {
    return [core]
  }
}

/** `0-2,5` becomes 0, 1, 2, 5. */
function parseCoreList(list: string): number[] {
  return list.split(',').flatMap((part) => {
    const [from = 0, to = from] = part.split('-').map(Number)
    return Array.from({ length: to - from + 1 }, (_, index) => from + index)
  })
}
