import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { setPriority } from 'node:os'
import type { Readable, Writable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { assetUrl, decodeCommand, isExecutable } from '../assets.ts'
import type { DecodeResponse } from './decodeProcess.ts'
import { DecodeQueue, DecoderUnavailableError, defaultQueueBounds, type Uploader } from './decodeQueue.ts'
import { encodeMessage, readMessages } from './messages.ts'
import { type DecodedPhoto, type PhotoFileName, photoFileNames } from './photo.ts'

/** Half of the memory of a container at most: above its limit, the service could be killed too. */
const decoderBytesMax = Math.min(
  512 * 1024 * 1024,
  (process.constrainedMemory?.() || Number.POSITIVE_INFINITY) / 2,
)

export const defaultDecoderBounds = {
  ...defaultQueueBounds,
  decodeMaxMs: 30_000,
  /** The processor time that a photo can take, on Linux. On a busy machine, it takes longer to get it. */
  decodeCpuMaxMs: 10_000,
  /** The process ends when it had nothing to do for this time. */
  decoderIdleMs: 10_000,
  decoderBytesMax,
  /** A process that has more than this after a photo ends. In the executable, the decoder does not return memory. */
  decoderIdleBytesMax: decoderBytesMax / 2,
  decoderCheckMs: 100,
}

/** Lower than that of the service. On a busy core the process still gets a quarter of the time, so that it ends in time. */
const decoderPriority = 5
const errorLengthMax = 2_000
const stoppingMessage = 'The service is stopping.'
const busyMessage = 'The photo could not be processed in time.'
const tooMuch = (what: 'time' | 'memory') =>
  `The image takes too much ${what} to be decoded. Reduce its size.`

/** Returned for a file that is no valid image. */
export type InvalidImage = {
  readonly problem: string
  /** The process may have ended for another reason than this file. */
  readonly isUncertain?: boolean
}

type Child = {
  readonly process: ChildProcessByStdio<Writable, Readable, Readable>
  readonly messages: AsyncGenerator<Buffer, undefined>
  /** The end of what it has written to standard error. */
  errorOutput(): string
  /** The signal that has ended it. Null if it has ended by itself, or did not start. */
  readonly ended: Promise<NodeJS.Signals | null>
}

/**
 * Decodes photos in another process, one at a time. The process starts when it is needed, and ends when it is idle, takes
 * too long or takes too much memory.
 */
export class PhotoDecoder {
  readonly #bounds: Readonly<typeof defaultDecoderBounds>
  #child: Child | undefined
  readonly #queue: DecodeQueue
  /** The photo that is decoded. */
  #current: Promise<unknown> | undefined
  #idleTimer: NodeJS.Timeout | undefined
  #isStopped = false

  constructor(bounds: Partial<typeof defaultDecoderBounds> = {}) {
    this.#bounds = { ...defaultDecoderBounds, ...bounds }
    this.#queue = new DecodeQueue(this.#bounds)
  }

  /** The id of the process, while there is one. */
  get processId(): number | undefined {
    return this.#child?.process.pid
  }

  /** Throws a DecoderUnavailableError if the photo cannot be decoded now. */
  async decode(bytes: Uint8Array, uploader?: Uploader): Promise<DecodedPhoto | InvalidImage> {
    if (this.#isStopped) throw new DecoderUnavailableError(stoppingMessage)
    await this.#queue.enter(uploader)
    const decoded = this.#decodeNow(bytes)
    this.#current = decoded.catch(() => {}).finally(() => this.#queue.leave())
    return decoded
  }

  /** Rejects photos that wait, and new ones. The one that is decoded is completed. */
  stopAccepting(): void {
    this.#isStopped = true
    this.#queue.rejectWaiting(stoppingMessage, () => true)
  }

  async stop(): Promise<void> {
    this.stopAccepting()
    this.#kill()
    await this.#current
  }

  /** A file that ends two processes is rejected, because further retries would end more of them. */
  async #decodeNow(bytes: Uint8Array): Promise<DecodedPhoto | InvalidImage> {
    const deadline = performance.now() + this.#bounds.decodeMaxMs
    const decoded = await this.#decodeOnce(bytes, deadline)
    return 'problem' in decoded && decoded.isUncertain ? this.#decodeOnce(bytes, deadline) : decoded
  }

  async #decodeOnce(bytes: Uint8Array, deadline: number): Promise<DecodedPhoto | InvalidImage> {
    if (this.#isStopped) throw new DecoderUnavailableError(stoppingMessage)
    clearTimeout(this.#idleTimer)
    const { process: child, messages, errorOutput, ended } = this.#useProcess()
    const bound = this.#watch(child, deadline)
    try {
      child.stdin.write(encodeMessage(bytes))
      return await receive(messages)
    } catch (error) {
      this.#kill()
      if (bound.exceeded instanceof Error) throw bound.exceeded
      if (bound.exceeded) return bound.exceeded
      if ((await ended) !== null && !this.#isStopped)
        return { problem: 'The image could not be decoded.', isUncertain: true }
      const cause = new Error(`${(error as Error).message} ${errorOutput()}`.trim())
      throw new DecoderUnavailableError('The photo could not be processed.', { cause })
    } finally {
      bound.stop()
      await this.#rest(child)
    }
  }

  #useProcess(): Child {
    if (this.#child) return this.#child
    const child = startProcess()
    this.#child = child
    // Also if it ends between two photos.
    child.process.once('exit', () => {
      if (this.#child === child) this.#child = undefined
    })
    return child
  }

  async #rest({ pid }: Child['process']): Promise<void> {
    const { decoderIdleMs, decoderIdleBytesMax } = this.#bounds
    if ((await usageOf(pid)).bytes > decoderIdleBytesMax) return this.#kill()
    this.#idleTimer = setTimeout(() => this.#kill(), decoderIdleMs)
    this.#idleTimer.unref()
  }

  /** Kills the process when it takes too long, or, on Linux, too much memory or processor time. */
  #watch({ pid }: Child['process'], deadline: number) {
    const { decodeCpuMaxMs, decoderBytesMax, decoderCheckMs } = this.#bounds
    type Exceeded = InvalidImage | DecoderUnavailableError
    const bound: { exceeded: Exceeded | undefined; stop(): void } = { exceeded: undefined, stop }
    let isStopped = false
    const exceed = (exceeded: Exceeded) => {
      if (isStopped || this.#child?.process.pid !== pid) return
      bound.exceeded = exceeded
      this.#kill()
    }
    const timer = setTimeout(
      () => exceed(hasUsage ? new DecoderUnavailableError(busyMessage) : { problem: tooMuch('time') }),
      Math.max(deadline - performance.now(), 0),
    )
    const before = usageOf(pid)
    const checker = setInterval(async () => {
      const { bytes, cpuMs } = await usageOf(pid)
      if (cpuMs - (await before).cpuMs > decodeCpuMaxMs) exceed({ problem: tooMuch('time') })
      // Photos before this one may have left a part of the memory.
      if (bytes > decoderBytesMax) exceed({ problem: tooMuch('memory'), isUncertain: true })
    }, decoderCheckMs)
    function stop() {
      isStopped = true
      clearTimeout(timer)
      clearInterval(checker)
    }
    return bound
  }

  #kill(): void {
    clearTimeout(this.#idleTimer)
    this.#child?.process.kill('SIGKILL')
    this.#child = undefined
  }
}

function startProcess(): Child {
  const program = isExecutable ? [] : [fileURLToPath(assetUrl('../bin/petstore.js'))]
  // Without the settings of the service, which contain secrets. One arena, because freed memory is returned from it.
  const env = { MALLOC_ARENA_MAX: '1' }
  const child = spawn(process.execPath, [...program, decodeCommand], {
    env,
    stdio: ['pipe', 'pipe', 'pipe'],
  })
  if (child.pid !== undefined) setPriority(child.pid, decoderPriority)
  // The reader of the responses notices that the process has ended.
  child.on('error', () => child.stdout.destroy())
  child.stdin.on('error', () => {})
  // It ends with the service, also after a crash, because its standard input is closed.
  child.unref()
  let errors = ''
  child.stderr.on('data', (text: Buffer) => {
    errors = (errors + String(text)).slice(-errorLengthMax)
  })
  const ended = new Promise<NodeJS.Signals | null>((resolve) => {
    child.once('exit', (_, signal) => resolve(signal))
    child.once('error', () => resolve(null))
  })
  return { process: child, messages: readMessages(child.stdout), errorOutput: () => errors, ended }
}

async function receive(messages: Child['messages']): Promise<DecodedPhoto | InvalidImage> {
  const response: DecodeResponse = JSON.parse(String(await nextMessage(messages)))
  if ('problem' in response) return response
  const files: Partial<Record<PhotoFileName, Uint8Array>> = {}
  for (const name of photoFileNames) files[name] = await nextMessage(messages)
  // The process handles untrusted data, so what it says is checked.
  const isValid = response.width > 0 && response.height > 0 && /^#[0-9a-f]{6}$/.test(response.color)
  if (!isValid) throw new Error('The process has sent an invalid response.')
  return { ...response, files: files as Record<PhotoFileName, Uint8Array> }
}

async function nextMessage(messages: Child['messages']): Promise<Buffer> {
  const { value } = await messages.next()
  if (value === undefined) throw new Error('The process has ended.')
  return value
}

const hasUsage = process.platform === 'linux'
/** The unit of processor time in `/proc`, on all platforms of Linux. */
const tickMs = 10

/**
 * What a process has used on Linux: processor time, and memory without the pages of files, such as its program. 0
 * elsewhere, where the number of pixels and the time are the bounds.
 */
async function usageOf(pid: number | undefined): Promise<{ bytes: number; cpuMs: number }> {
  const read = (name: string) => readFile(`/proc/${pid}/${name}`, 'utf8').catch(() => '')
  const [status, stat] = await Promise.all([read('status'), read('stat')])
  const bytesOf = (name: string) =>
    1024 * Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(status)?.[1] ?? 0)
  // User and system time, counted from the state, which follows the name of the program in parentheses.
  const [user = 0, system = 0] = stat
    .replace(/^.*\) /s, '')
    .split(' ')
    .slice(11, 13)
    .map(Number)
  return { bytes: bytesOf('VmRSS') - bytesOf('RssFile'), cpuMs: (user + system) * tickMs }
}
