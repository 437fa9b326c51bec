import { write } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { promisify } from 'node:util'

const bufferBytes = 64 * 1024
const flushMs = 200
/** What waits beyond this is lost, so a reader that does not read cannot exhaust the memory. */
const defaultWaitingBytesMax = 16 * 1024 * 1024
const lastFlushMaxMs = 1_000
/** How long to wait for a reader, and before the number of lost lines is written if no line follows. */
const retryMs = 100
const lineFeed = 0x0a

const writeBytes = promisify(write)

type LineWriterOptions = {
  /** The line that says how many lines were lost. */
  describeLoss(count: number): string
  readonly waitingBytesMax?: number
}

/** Collects lines as bytes and writes them together. Lines that cannot be written are lost and counted. Callers never wait. */
export class LineWriter {
  readonly #fd: number
  readonly #describeLoss: LineWriterOptions['describeLoss']
  readonly #waitingBytesMax: number
  readonly #buffer = Buffer.allocUnsafe(bufferBytes)
  #used = 0
  #waiting: Buffer[] = []
  #waitingBytes = 0
  #writing: Promise<void> | undefined
  /** Writes the number of lost lines, if no line follows. */
  #retry: NodeJS.Timeout | undefined
  #isInCall = false
  #isClosed = false
  /** Whether the last line that was written lacks its end. */
  #isCut = false
  #reported = 0
  linesLost = 0

  constructor(fd: number, { describeLoss, waitingBytesMax = defaultWaitingBytesMax }: LineWriterOptions) {
    this.#fd = fd
    this.#describeLoss = describeLoss
    this.#waitingBytesMax = waitingBytesMax
  }

  /** Whether a thread may wait for the reader of a pipe. It prevents a normal exit. */
  get isBlocked(): boolean {
    return this.#isInCall
  }

  write(line: string): void {
    // A UTF-16 code unit takes at most three bytes.
    if (this.#used + 3 * line.length > bufferBytes) this.#passOn()
    if (3 * line.length > bufferBytes) return void this.#add(Buffer.from(line))
    if (this.#used === 0) setTimeout(() => this.#passOn(), flushMs)
    this.#used += this.#buffer.write(line, this.#used)
  }

  /** Writes the lines so far, for a bounded time. */
  async flush(): Promise<void> {
    this.#passOn()
    await Promise.race([this.#writing, delay(lastFlushMaxMs)])
  }

  /** Writes the remaining lines, for a bounded time, and closes. */
  async close(): Promise<void> {
    await this.flush()
    this.abandon()
  }

  /** Drops the remaining lines. */
  abandon(): void {
    this.#isClosed = true
    this.#waiting = []
    this.#used = 0
  }

  #passOn(): void {
    if (this.#used === 0) return
    // A copy has the size that is counted, also if the buffer was not full.
    const bytes = Buffer.from(this.#buffer.subarray(0, this.#used))
    this.#used = 0
    this.#add(bytes)
  }

  #add(bytes: Buffer): void {
    if (this.#isClosed || this.#waitingBytes + bytes.length > this.#waitingBytesMax) this.#lose(bytes)
    else {
      this.#waiting.push(bytes)
      this.#waitingBytes += bytes.length
      this.#writing ??= this.#writeAll()
    }
  }

  async #writeAll(): Promise<void> {
    for (let next = this.#waiting.shift(); next; next = this.#waiting.shift()) {
      await this.#writeNext(next)
      this.#waitingBytes -= next.length
    }
    this.#writing = undefined
    if (this.linesLost === this.#reported || this.#isClosed) return
    this.#retry ??= setTimeout(() => {
      this.#retry = undefined
      this.#add(Buffer.alloc(0))
    }, retryMs).unref()
  }

  /** Writes the notice about lost lines, if there are any, and then these lines. */
  async #writeNext(lines: Buffer): Promise<void> {
    const { linesLost } = this
    const lost = linesLost - this.#reported
    const notice = lost === 0 ? '' : `${this.#isCut ? '\n' : ''}${this.#describeLoss(lost)}`
    const bytes = notice === '' ? lines : Buffer.concat([Buffer.from(notice), lines])
    const written = await this.#writeAsFarAsPossible(bytes)
    const noticeBytes = bytes.length - lines.length
    if (written >= noticeBytes) this.#reported = linesLost
    if (written > 0) this.#isCut = bytes[written - 1] !== lineFeed
    this.#lose(bytes.subarray(Math.max(written, noticeBytes)))
  }

  /** Returns how many bytes were written. Waits for a reader, but not for space on the disk. */
  async #writeAsFarAsPossible(bytes: Buffer): Promise<number> {
    let written = 0
    while (written < bytes.length && !this.#isClosed) {
      this.#isInCall = true
      const result = await writeBytes(this.#fd, bytes, written).catch((error: NodeJS.ErrnoException) => error)
      this.#isInCall = false
      if ('bytesWritten' in result) written += result.bytesWritten
      else if (result.code === 'EAGAIN') await delay(retryMs, undefined, { ref: false })
      else break
    }
    return written
  }

  #lose(lines: Buffer): void {
    for (const byte of lines) if (byte === lineFeed) this.linesLost++
  }
}
