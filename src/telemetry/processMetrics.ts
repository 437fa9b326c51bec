import { readdirSync, readFileSync } from 'node:fs'
import { type Histogram, monitorEventLoopDelay, performance } from 'node:perf_hooks'
import { setTimeout as delay } from 'node:timers/promises'
import { metricText } from './prometheus.ts'

/** The delay of the event loop is sampled every 10 ms, or later while the event loop is blocked. */
const sampleMs = 10
const firstSampleWaitsMax = 5

/** The value is undefined if the runtime or the system does not know it. */
type Figure = readonly [name: string, help: string, value: number | undefined]

/** Starts to measure the delay of the event loop. Returns metrics of the process, with the names that are usual for Node. */
export function measureProcess(): () => Promise<string> {
  const loop = ifAvailable(() => monitorEventLoopDelay())
  loop?.enable()
  return async () => {
    for (let waits = 0; loop?.count === 0 && waits < firstSampleWaitsMax; waits++) await delay(sampleMs)
    // The mean of no samples is NaN.
    const figures = [...processFigures(), ...(loop && loop.count > 0 ? loopFigures(loop) : [])]
    loop?.reset()
    const texts = figures.map(([name, help, value]) => {
      const type = name.endsWith('_total') ? 'counter' : 'gauge'
      return value === undefined ? '' : metricText(type, name, help, [[{}, value]])
    })
    return texts.join('')
  }
}

const loopFigures = (loop: Histogram): Figure[] => [
  ['nodejs_eventloop_lag_min_seconds', 'Shortest delay of the event loop.', loop.min / 1e9],
  ['nodejs_eventloop_lag_max_seconds', 'Longest delay of the event loop.', loop.max / 1e9],
  ['nodejs_eventloop_lag_mean_seconds', 'Mean delay of the event loop.', loop.mean / 1e9],
  ['nodejs_eventloop_lag_stddev_seconds', 'Standard deviation of the delays.', loop.stddev / 1e9],
  ['nodejs_eventloop_lag_p50_seconds', 'Percentile 50 of the delays.', loop.percentile(50) / 1e9],
  ['nodejs_eventloop_lag_p90_seconds', 'Percentile 90 of the delays.', loop.percentile(90) / 1e9],
  ['nodejs_eventloop_lag_p99_seconds', 'Percentile 99 of the delays.', loop.percentile(99) / 1e9],
]

function processFigures(): Figure[] {
  const { user, system } = process.cpuUsage()
  const { rss, heapTotal, heapUsed, external } = process.memoryUsage()
  const startSeconds = Math.round(performance.timeOrigin / 1000)
  const descriptors = ifAvailable(() => readdirSync('/proc/self/fd').length - 1)
  return [
    ['process_cpu_user_seconds_total', 'Processor time in the program.', user / 1e6],
    ['process_cpu_system_seconds_total', 'Processor time in the kernel.', system / 1e6],
    ['process_cpu_seconds_total', 'Processor time.', (user + system) / 1e6],
    ['process_start_time_seconds', 'When the process started, as a Unix timestamp.', startSeconds],
    ['process_resident_memory_bytes', 'Memory in use.', rss],
    ['process_virtual_memory_bytes', 'Address space.', procFigure('status', /^VmSize:\s+(\d+)/m, 1024)],
    ['process_heap_bytes', 'Data segment.', procFigure('status', /^VmData:\s+(\d+)/m, 1024)],
    ['process_open_fds', 'Open file descriptors.', descriptors],
    ['process_max_fds', 'Limit of open file descriptors.', procFigure('limits', /^Max open files\s+(\d+)/m)],
    ['nodejs_heap_size_total_bytes', 'Size of the JavaScript heap.', heapTotal],
    ['nodejs_heap_size_used_bytes', 'Memory in use on the JavaScript heap.', heapUsed],
    ['nodejs_external_memory_bytes', 'Memory of JavaScript objects outside the heap.', external],
  ]
}

/** What Linux says about this process. */
function procFigure(file: string, pattern: RegExp, unit = 1): number | undefined {
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
