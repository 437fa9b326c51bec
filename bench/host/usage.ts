/** CPU time and memory of processes, from /proc. Without /proc every value is NaN. */
import { readFileSync } from 'node:fs'

const ticksPerSecond = 100

/** User and system time of a process with all its threads. */
export function cpuSeconds(pid: number): number {
  const text = readProc(`${pid}/stat`)
  // The process name, in parentheses, may contain spaces. User and system time are fields 12 and 13 after it.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
  return (Number(fields[11] ?? Number.NaN) + Number(fields[12] ?? Number.NaN)) / ticksPerSecond
}

/** Resident memory (VmRSS) in megabytes (10^6 bytes). */
export function residentMb(pid: number): number {
  const kib = /^VmRSS:\s+(\d+) kB/m.exec(readProc(`${pid}/status`))?.[1]
  return (Number(kib ?? Number.NaN) * 1024) / 1e6
}

/** Above this share of the server's core, used by other processes, a result is marked as disturbed. */
export const otherCpuShareMax = 0.1

/** Starts to measure the share of a core that other processes use; the function returns it, or 0 if it is unknown. */
export function watchOtherProcesses(core: string, pids: readonly number[]): () => number {
  const used = () => coreSeconds(core) - pids.reduce((total, pid) => total + cpuSeconds(pid), 0)
  const usedBefore = used()
  const startedAt = performance.now()
  return () => {
    const share = (used() - usedBefore) / ((performance.now() - startedAt) / 1000)
    return Number.isFinite(share) ? Math.max(0, share) : 0
  }
}

/**
 * The time that a core was busy. Time that the host of a virtual machine has taken (steal) counts as busy; processes of a
 * lower priority (nice), such as the one that decodes photos, do not count.
 */
function coreSeconds(core: string): number {
  const line = new RegExp(`^cpu${core} (.*)$`, 'm').exec(readProc('stat'))?.[1]
  if (line === undefined) return Number.NaN
  // Columns: user, nice, system, idle, iowait, irq, softirq, steal.
  const [user = 0, , system = 0, , , , , steal = 0] = line.split(' ').map(Number)
  return (user + system + steal) / ticksPerSecond
}

function readProc(path: string): string {
  try {
    return readFileSync(`/proc/${path}`, 'utf8')
  } catch {
    return ''
  }
}
