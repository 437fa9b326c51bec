import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { cpus, release, totalmem } from 'node:os'
import { delimiter, join } from 'node:path'

/**
 * Which part of the work runs on which core. The server has the first core to itself and the load another, so that
 * neither takes time from the other. PostgreSQL would stand on a machine of its own: it gets a core of its own where
 * there are three, and shares the load's where there are two, never the server's.
 */
export type Cores = {
  readonly isPinned: boolean
  readonly server: string
  readonly load: string
  readonly loadCount: number
  readonly postgres: string
  /** Of three servers at once, each its own core where there are enough, or all the server's. */
  readonly three: readonly string[]
  readonly sentence: string
}

export function findProgram(name: string): string | undefined {
  return (process.env.PATH ?? '')
    .split(delimiter)
    .map((folder) => join(folder, name))
    .find((file) => existsSync(file))
}

export function assignCores(): Cores {
  const allowed = allowedCores()
  const everywhere = allowed.join(',')
  if (findProgram('taskset') === undefined || allowed.length < 2) {
    const why = allowed.length < 2 ? 'there is one core only' : '`taskset` is not installed'
    return {
      isPinned: false,
      server: everywhere,
      load: everywhere,
      loadCount: Math.max(1, allowed.length - 1),
      postgres: everywhere,
      three: [everywhere, everywhere, everywhere],
      sentence: `**Server and load were not kept on different cores (${why}): do not trust these figures.**`,
    }
  }
  const [server = 0, ...rest] = allowed
  // A sibling is the other half of the same core: it is left alone if there is anything else.
  const siblings = siblingsOf(server)
  const apart = rest.filter((core) => !siblings.includes(core))
  const others = apart.length > 0 ? apart : rest
  const spare = others.slice(2)
  const load = others.length > 2 ? [others[0], ...spare.slice(2)] : others.slice(0, 1)
  const postgres = others[1] ?? others[0]
  const three = spare.length >= 2 ? [server, spare[0], spare[1]] : [server, server, server]
  const shares = apart.length === 0 ? ' (the other half of the same physical core)' : ''
  return {
    isPinned: true,
    server: String(server),
    load: load.join(','),
    loadCount: load.length,
    postgres: String(postgres),
    three: three.map(String),
    sentence:
      `Server on core ${server}, load on ${load.join(', ')}${shares}, PostgreSQL on ${postgres}` +
      `${postgres === others[0] ? ', which it shares with the load' : ''}; three instances on ${[...new Set(three)].join(', ')}.`,
  }
}

/** A command with its arguments, kept to these cores; taskset becomes the command, so the process id stays. */
export function pinned(cores: Cores, where: string, command: string[]): string[] {
  return cores.isPinned ? ['taskset', '-c', where, ...command] : command
}

/** Moves this process, whose children start where it is. */
export function moveTo(cores: Cores, where: string): void {
  if (!cores.isPinned) return
  execFileSync('taskset', ['-acp', where, String(process.pid)], { stdio: 'ignore' })
}

function allowedCores(): number[] {
  try {
    const list = /^Cpus_allowed_list:\s*(\S+)/m.exec(readFileSync('/proc/self/status', 'utf8'))?.[1]
    return parseList(list ?? '')
  } catch {
    return cpus().map((_, index) => index)
  }
}

function siblingsOf(core: number): number[] {
  try {
    return parseList(
      readFileSync(`/sys/devices/system/cpu/cpu${core}/topology/thread_siblings_list`, 'utf8').trim(),
    )
  } catch {
    return [core]
  }
}

/** `0-2,5` is 0, 1, 2, 5. */
function parseList(list: string): number[] {
  return list.split(',').flatMap((part) => {
    const [from = 0, to = from] = part.split('-').map(Number)
    return Array.from({ length: to - from + 1 }, (_, index) => from + index)
  })
}

const ticksPerSecond = 100

/** What a process with all its threads has used of the processor; undefined where there is no /proc. */
export function cpuSeconds(pid: number): number | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8')
    // The name, in brackets, may contain anything; user and system time are the 12th and 13th fields behind it.
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
    return (Number(fields[11]) + Number(fields[12])) / ticksPerSecond
  } catch {
    return undefined
  }
}

/**
 * How busy a core has been, with whatever program; undefined where there is no /proc. Time that the host of a virtual
 * machine took away counts as busy.
 */
function coreSeconds(core: string): number | undefined {
  try {
    const line = new RegExp(`^cpu${core} (.*)$`, 'm').exec(readFileSync('/proc/stat', 'utf8'))?.[1]
    if (line === undefined) return undefined
    // The order is user, nice, system, idle, waiting for disks, two kinds of interrupts, stolen.
    const [user = 0, nice = 0, system = 0, , , , , stolen = 0] = line.split(' ').map(Number)
    return (user + nice + system + stolen) / ticksPerSecond
  } catch {
    return undefined
  }
}

/** Tells later which share of a core was taken by others than these processes; 0 where it cannot be told. */
export function watchOthers(core: string, pids: readonly number[]): () => number {
  const used = () =>
    (coreSeconds(core) ?? Number.NaN) -
    pids.reduce((total, pid) => total + (cpuSeconds(pid) ?? Number.NaN), 0)
  const before = used()
  const started = performance.now()
  return () => {
    const share = (used() - before) / ((performance.now() - started) / 1000)
    return Number.isFinite(share) ? Math.max(0, share) : 0
  }
}

/** What others may take of the server's core before a figure counts as disturbed. */
export const othersMax = 0.1

/** Memory that is really in use, in megabytes (10^6 bytes). */
export function residentMb(pid: number): number | undefined {
  try {
    const kib = /^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]
    return kib === undefined ? undefined : (Number(kib) * 1024) / 1e6
  } catch {
    return undefined
  }
}

export function describeMachine(): Record<string, string> {
  const all = cpus()
  return {
    processor: `${all.length} x ${all[0]?.model.trim() ?? 'unknown'}`,
    memory: `${(totalmem() / 1e9).toFixed(0)} GB`,
    system: `${process.platform} ${release()}`,
  }
}
