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
    const seconds = (nanoseconds: number | undefined) => nanoseconds && nanoseconds / 1e9
    const text = [
      processText(),
      metric('nodejs_eventloop_lag_min_seconds', 'Shortest delay of the event loop.', seconds(loop?.min)),
      metric('nodejs_eventloop_lag_max_seconds', 'Longest delay of the event loop.', seconds(loop?.max)),
      metric('nodejs_eventloop_lag_mean_seconds', 'Mean delay of the event loop.', seconds(loop?.mean)),
      metric(
        'nodejs_eventloop_lag_stddev_seconds',
        'Standard deviation of the delays.',
        seconds(loop?.stddev),
      ),
      ...[50, 90, 99].map((percent) => {
        const name = `nodejs_eventloop_lag_p${percent}_seconds`
        return metric(name, `Percentile ${percent} of the delays.`, seconds(loop?.percentile(percent)))
      }),
    ].join('')
    loop?.reset()
    return text
  }
}

function processText(): string {
  const { user, system } = process.cpuUsage()
  const { rss, heapTotal, heapUsed, external } = process.memoryUsage()
  const startSeconds = Math.round(performance.timeOrigin / 1000)
  const descriptors = ifAvailable(() => readdirSync('/proc/self/fd').length - 1)
  return [
    metric('process_cpu_user_seconds_total', 'Processor time in the program.', user / 1e6),
    metric('process_cpu_system_seconds_total', 'Processor time in the kernel.', system / 1e6),
    metric('process_cpu_seconds_total', 'Processor time.', (user + system) / 1e6),
    metric('process_start_time_seconds', 'When the process started, as a Unix timestamp.', startSeconds),
    metric('process_resident_memory_bytes', 'Memory in use.', rss),
    metric(
      'process_virtual_memory_bytes',
      'Address space.',
      kernelFigure('status', /^VmSize:\s+(\d+)/m, 1024),
    ),
    metric('process_heap_bytes', 'Data segment.', kernelFigure('status', /^VmData:\s+(\d+)/m, 1024)),
    metric('process_open_fds', 'Open file descriptors.', descriptors),
    metric(
      'process_max_fds',
      'Limit of open file descriptors.',
      kernelFigure('limits', /^Max open files\s+(\d+)/m),
    ),
    metric('nodejs_heap_size_total_bytes', 'Size of the JavaScript heap.', heapTotal),
    metric('nodejs_heap_size_used_bytes', 'Memory in use on the JavaScript heap.', heapUsed),
    metric('nodejs_external_memory_bytes', 'Memory of JavaScript objects outside the heap.', external),
  ].join('')
}

/** Undefined if the runtime or the system does not know the value. */
function metric(name: string, help: string, value: number | undefined): string {
  if (value === undefined) return ''
  return metricText(name.endsWith('_total') ? 'counter' : 'gauge', name, help, [[{}, value]])
}

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
