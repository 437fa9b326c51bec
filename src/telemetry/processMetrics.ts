import { readdirSync, readFileSync } from 'node:fs'
import { monitorEventLoopDelay, performance } from 'node:perf_hooks'
import { setTimeout as delay } from 'node:timers/promises'
import { metricText } from './prometheus.ts'

/** The delay of the event loop is sampled every 10 ms. */
const firstSamplesMs = 50

/** Starts to measure the delay of the event loop. Returns metrics of the process, with the names that are usual for Node. */
export function measureProcess(): () => Promise<string> {
  const loop = ifAvailable(() => monitorEventLoopDelay())
  loop?.enable()
  return async () => {
    if (loop?.count === 0) await delay(firstSamplesMs)
    const text = `${cpuText()}${memoryText()}${loop ? delayText(loop) : ''}`
    loop?.reset()
    return text
  }
}

/** Undefined if the runtime or the system does not know the value. */
const gauge = (name: string, help: string, value: number | undefined): string =>
  value === undefined ? '' : metricText('gauge', name, help, [[{}, value]])

function cpuText(): string {
  const { user, system } = process.cpuUsage()
  const counter = (kind: string, what: string, micros: number) => {
    const name = `process_cpu_${kind}seconds_total`
    return metricText('counter', name, `Total ${what} CPU time spent in seconds.`, [[{}, micros / 1e6]])
  }
  return [
    counter('user_', 'user', user),
    counter('system_', 'system', system),
    counter('', 'user and system', user + system),
  ].join('')
}

function memoryText(): string {
  const { rss, heapTotal, heapUsed, external } = process.memoryUsage()
  const startSeconds = Math.round(performance.timeOrigin / 1000)
  const descriptors = ifAvailable(() => readdirSync('/proc/self/fd').length - 1)
  const descriptorsMax = kernelFigure('limits', /^Max open files\s+(\d+)/m)
  return [
    gauge(
      'process_start_time_seconds',
      'Start time of the process since unix epoch in seconds.',
      startSeconds,
    ),
    gauge('process_resident_memory_bytes', 'Resident memory size in bytes.', rss),
    gauge('process_virtual_memory_bytes', 'Virtual memory size in bytes.', kernelBytes('VmSize')),
    gauge('process_heap_bytes', 'Process heap size in bytes.', kernelBytes('VmData')),
    gauge('process_open_fds', 'Number of open file descriptors.', descriptors),
    gauge('process_max_fds', 'Maximum number of open file descriptors.', descriptorsMax),
    gauge('nodejs_heap_size_total_bytes', 'Process heap size from Node.js in bytes.', heapTotal),
    gauge('nodejs_heap_size_used_bytes', 'Process heap size used from Node.js in bytes.', heapUsed),
    gauge('nodejs_external_memory_bytes', 'Node.js external memory size in bytes.', external),
  ].join('')
}

function delayText(loop: ReturnType<typeof monitorEventLoopDelay>): string {
  const lag = (kind: string, help: string, nanoseconds: number) =>
    gauge(`nodejs_eventloop_lag_${kind}_seconds`, `The ${help}.`, nanoseconds / 1e9)
  const percentile = (percent: number) => {
    const help = `${percent}th percentile of the recorded event loop delays`
    return lag(`p${percent}`, help, loop.percentile(percent))
  }
  return [
    lag('min', 'minimum recorded event loop delay', loop.min),
    lag('max', 'maximum recorded event loop delay', loop.max),
    lag('mean', 'mean of the recorded event loop delays', loop.mean),
    lag('stddev', 'standard deviation of the recorded event loop delays', loop.stddev),
    ...[50, 90, 99].map(percentile),
  ].join('')
}

const kernelBytes = (field: string): number | undefined =>
  kernelFigure('status', new RegExp(`^${field}:\\s+(\\d+) kB$`, 'm'), 1024)

/** What Linux says about this process. */
function kernelFigure(file: string, pattern: RegExp, unit = 1): number | undefined {
  const [, figure] = ifAvailable(() => pattern.exec(readFileSync(`/proc/self/${file}`, 'utf8'))) ?? []
  return figure === undefined ? undefined : Number(figure) * unit
}

/** Bun throws where it lacks a part of Node, and macOS has no `/proc`. */
function ifAvailable<T>(call: () => T): T | undefined {
  try {
    return call()
  } catch {
    return undefined
  }
}
