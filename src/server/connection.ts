import type { Socket } from 'node:net'
import type { RequestProblem } from '../api/request.ts'
import type { NodeRequest } from './nodeAdapter.ts'
import { PipelinedRequests } from './pipelinedRequests.ts'
import { RestTimer } from './restTimer.ts'
import type { ResumeQueue } from './resumeQueue.ts'
import type { ConnectionCloseReason } from './server.ts'

/** Reading pauses while the waiting pipelined requests of a connection together weigh more than this. A small one weighs 1. */
const waitingPauseMax = 100
/** What was read before the pause can still exceed it. Beyond this bound the connection is closed. */
const waitingMax = 2_000
/** For all connections together: about 80 MB. Beyond it, the connection with the most is closed. */
const waitingTotalMax = 20_000

export type ConnectionHandlers = {
  serve(request: NodeRequest): void
  /** Responds to bytes that are not a request, and closes the connection. */
  reject(socket: Socket, problem: RequestProblem): void
}

/** What the connections of a server share. */
type Shared = {
  readonly handlers: ConnectionHandlers
  /** Requests so far. */
  requests: number
  /** Also has the weight of the pipelined requests that wait, on all connections together. */
  readonly resumeQueue: ResumeQueue
  /** The time for what is left of a request when reading resumes. */
  readonly headersMs: number
  closeWithReason(connection: Connection, reason: ConnectionCloseReason): void
  closeHeaviest(): void
}

/** Serves the requests of a connection one after another: a pipelined request sees the effects of those before it. */
export class Connection {
  readonly socket: Socket
  readonly openedAt = performance.now()
  readonly #shared: Shared
  readonly #waiting: PipelinedRequests
  #current: NodeRequest | undefined
  /** The last request that was served or is being served. Released when it is complete and has its response: its headers can be large. */
  #last: NodeRequest | undefined
  #problem: RequestProblem | undefined
  #hasCompleted = false
  #isPauseScheduled = false
  #isStalled = false
  /** Whether reading is paused because of waiting pipelined requests, and has not been resumed since. */
  #isHeld = false
  /** Whether reading was paused at least once. */
  #wasPaused = false
  #requests = 0
  /** The newest request, also while it waits. Released like `#last`. */
  #newest: NodeRequest | undefined
  #restTimer: RestTimer | undefined
  #bytesRead = 0
  #idleSweeps = 0
  /** When its last response ended. */
  respondedAt: number | undefined

  constructor(socket: Socket, shared: Shared) {
    this.socket = socket
    this.#shared = shared
    this.#waiting = new PipelinedRequests(shared.resumeQueue)
    // Node resumes reading after each request with a body.
    socket.on('resume', () => {
      if (this.#problem || this.#isHeld || this.#isStalled) this.#schedulePause()
    })
  }

  get isServing(): boolean {
    return this.#current !== undefined
  }

  /** Whether the client has not read all of a response that has ended. */
  get isSending(): boolean {
    return this.socket.writableLength > 0 && this.#last?.response.writableEnded === true
  }

  /** The weight of the pipelined requests that wait. */
  get waitingWeight(): number {
    return this.#waiting.weight
  }

  get isStalled(): boolean {
    return this.#isStalled
  }

  /** Whether the client may have sent something that has not been read. Closing the socket at once would then reset it. */
  get mayHaveUnread(): boolean {
    return this.#waiting.length > 0 || this.#wasPaused || this.#problem !== undefined
  }

  /** Whether no request has arrived completely so far. */
  get isUnfinished(): boolean {
    this.#hasCompleted ||= this.#last?.isComplete ?? false
    // A request can become complete after its response.
    if (!this.#current) this.#releaseComplete()
    return !this.#hasCompleted
  }

  /** How many requests have arrived completely. Those before the newest one have. */
  get #completeCount(): number {
    return this.#requests - (this.#newest?.isComplete === false ? 1 : 0)
  }

  /** When it was opened, or when its last response ended. Undefined while a request is being served. */
  get idleSince(): number | undefined {
    return this.#current ? undefined : (this.respondedAt ?? this.openedAt)
  }

  add(request: NodeRequest): void {
    // What was read is parsed to its end, also after the connection is closed or has failed.
    if (this.socket.destroyed || this.#problem) return
    this.#shared.requests++
    this.#requests++
    this.#newest = request
    if (!this.#current) return void this.#serve(request)
    this.#waiting.add(request)
    if (this.#waiting.weight > waitingMax) return void this.#shared.closeWithReason(this, 'pipelined')
    if (this.#shared.resumeQueue.weight > waitingTotalMax) this.#shared.closeHeaviest()
    if (this.#mustHold) this.#schedulePause()
  }

  /**
   * Pauses reading until the client has read the response to its request. Otherwise everything that the client sends would
   * restart the timeout of the stalled response.
   */
  stall(): void {
    this.#isStalled = true
    // It cannot resume now. It is added again when the client has read.
    this.#shared.resumeQueue.remove(this)
    this.#schedulePause()
  }

  /** The bytes that follow cannot be read. Complete requests get their responses first. */
  fail(problem: RequestProblem): void {
    const { socket } = this
    if (this.#problem || socket.destroyed || socket.writableEnded) return
    // The body has a time of its own.
    if (problem === 'timeout' && this.#last?.isBodyTimed) return
    // Reading may be paused in the middle of a request: then the client is not slow.
    if (problem === 'timeout' && (this.#isStalled || this.#isHeld || this.#waiting.length > 0)) {
      this.#restTimer?.clear()
      this.#restTimer = new RestTimer(this.#shared.headersMs, () => this.#completeCount)
      return
    }
    const last = this.#newest
    const isBodyBroken = last !== undefined && !last.isComplete
    this.#problem = problem
    socket.pause()
    if (isBodyBroken && !last.response.headersSent) last.fail(problem)
    else if (isBodyBroken) socket.destroySoon()
    else if (!this.#current) this.#shared.handlers.reject(socket, problem)
    // A stream has no end to wait for.
    else if (this.#current.response.headersSent && !this.#current.response.writableEnded) socket.destroy()
  }

  /** Closes the connection if it is idle in more than this many sweeps in a row. */
  sweep(idleSweepsMax: number): void {
    const { bytesRead } = this.socket
    const isIdle = !this.isUnfinished && !this.#current && bytesRead === this.#bytesRead
    this.#idleSweeps = isIdle ? this.#idleSweeps + 1 : 0
    this.#bytesRead = bytesRead
    if (this.#idleSweeps > idleSweepsMax) this.socket.destroy()
  }

  close(): void {
    this.#restTimer?.clear()
    this.#shared.resumeQueue.close(this)
    this.#waiting.clear()
  }

  /** Called by the queue when it is the turn of this connection. */
  resume(): void {
    this.#isHeld = false
    this.#pauseOrResume()
  }

  /** Called before a stream begins. It would end at once: a paused socket does not report that its client has left. */
  resumeForStream(): void {
    if (!this.#isHeld || this.#mustHold) return
    this.#shared.resumeQueue.remove(this)
    this.resume()
  }

  #serve(request: NodeRequest): void {
    this.#current = request
    this.#last = request
    // Not `once`, which takes longer: a response is closed only once.
    request.response.on('close', () => this.#next(request))
    this.#shared.handlers.serve(request)
  }

  #releaseComplete(): void {
    if (this.#last?.isComplete) this.#last = undefined
    if (this.#newest?.isComplete) this.#newest = undefined
  }

  #next(request: NodeRequest): void {
    this.#hasCompleted ||= request.isComplete
    this.#current = undefined
    this.#releaseComplete()
    this.respondedAt = performance.now()
    if (this.#isStalled) this.#schedulePause()
    this.#isStalled = false
    const next = this.#waiting.next()
    if (!next) {
      if (this.#problem && request.isComplete && !this.socket.destroyed && !this.socket.writableEnded)
        this.#shared.handlers.reject(this.socket, this.#problem)
      return
    }
    this.#current = next
    this.#schedulePause()
    // One request per connection and turn of the event loop: other connections are served in between.
    setImmediate(() => {
      if (this.socket.destroyed) return
      this.#pauseOrResume()
      this.#serve(next)
    })
  }

  /** Node resumes reading with every complete request, body and response, in a tick before the microtasks. */
  #schedulePause(): void {
    if (this.#isPauseScheduled) return
    this.#isPauseScheduled = true
    queueMicrotask(() => {
      this.#isPauseScheduled = false
      this.#pauseOrResume()
    })
  }

  /** Node buffers a body whose request waits: of a body of unknown length, no more than what is read at once. */
  get #mustHold(): boolean {
    return this.#waiting.weight > waitingPauseMax || this.#waiting.newest?.isComplete === false
  }

  #pauseOrResume(): void {
    const { socket } = this
    // When our side has ended, the rest is read and discarded.
    if (socket.destroyed || socket.writableEnded) return
    if (this.#problem) return void socket.pause()
    if (this.#mustHold) this.#isHeld = true
    else if (this.#isHeld && !this.#isStalled) this.#shared.resumeQueue.add(this)
    if (this.#isStalled || this.#isHeld) {
      this.#wasPaused = true
      this.#restTimer?.clear()
      return void socket.pause()
    }
    if (socket.isPaused()) socket.resume()
    if (this.#waiting.length === 0) this.#restTimer?.start(() => this.fail('timeout'))
  }
}
