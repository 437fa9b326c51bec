import type { Socket } from 'node:net'
import type { RequestProblem } from '../api/request.ts'
import type { NodeRequest } from './nodeAdapter.ts'

/** Reading pauses while more pipelined requests than this wait. */
const waitingPauseMax = 100
/** What was read before the pause can still exceed it. Beyond these bounds the connection is closed. */
const waitingMax = 2_000
/** Requests that wait on all connections together. Each takes about 4 KB. */
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
  /** Pipelined requests that wait. */
  waiting: number
}

/** Serves the requests of a connection one after another: a pipelined request sees the effects of those before it. */
export class Connection {
  readonly socket: Socket
  readonly openedAt = performance.now()
  readonly #shared: Shared
  readonly #waiting: NodeRequest[] = []
  #current: NodeRequest | undefined
  /** The last request that was served or is being served. */
  #last: NodeRequest | undefined
  #problem: RequestProblem | undefined
  #hasCompleted = false
  #isPauseScheduled = false
  #isStalled = false
  #bytesRead = 0
  #idleSweeps = 0
  /** When its last response ended. */
  respondedAt: number | undefined

  constructor(socket: Socket, shared: Shared) {
    this.socket = socket
    this.#shared = shared
  }

  get isServing(): boolean {
    return this.#current !== undefined
  }

  /** Whether the client has not read all of a response that has ended. */
  get isSending(): boolean {
    return this.socket.writableLength > 0 && this.#last?.response.writableEnded === true
  }

  /** Whether no request has arrived completely so far. */
  get isUnfinished(): boolean {
    // A request can become complete after its response.
    this.#hasCompleted ||= this.#last?.isComplete ?? false
    return !this.#hasCompleted
  }

  /** When it was opened, or when its last response ended. Undefined while a request is being served. */
  get idleSince(): number | undefined {
    return this.#current ? undefined : (this.respondedAt ?? this.openedAt)
  }

  add(request: NodeRequest): void {
    // What was read is parsed to its end, also after the connection is closed or has failed.
    if (this.socket.destroyed || this.#problem) return
    this.#shared.requests++
    // Not `once`, which takes longer: a response is closed only once.
    request.response.on('close', () => this.#next(request))
    if (!this.#current) return void this.#serve(request)
    this.#waiting.push(request)
    const total = ++this.#shared.waiting
    if (this.#waiting.length > waitingMax || total > waitingTotalMax) this.socket.destroy()
    else if (this.#waiting.length > waitingPauseMax) this.#schedulePause()
  }

  /**
   * Pauses reading until the client has read the response to its request. Otherwise everything that the client sends would
   * restart the timeout of the stalled response.
   */
  stall(): void {
    this.#isStalled = true
    this.#schedulePause()
  }

  /** The bytes that follow cannot be read. Complete requests get their responses first. */
  fail(problem: RequestProblem): void {
    const { socket } = this
    if (this.#problem || socket.destroyed || socket.writableEnded) return
    // Reading may be paused in the middle of a request: then the client is not slow. Or the body has a time of its own.
    const isPaused = this.#isStalled || this.#waiting.length > 0
    if (problem === 'timeout' && (isPaused || this.#last?.isBodyTimed)) return
    this.#problem = problem
    socket.pause()
    const last = this.#waiting.at(-1) ?? this.#last
    const isBodyBroken = last !== undefined && !last.isComplete
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
    this.#shared.waiting -= this.#waiting.length
    this.#waiting.length = 0
  }

  #serve(request: NodeRequest): void {
    this.#current = request
    this.#last = request
    this.#shared.handlers.serve(request)
  }

  #next(request: NodeRequest): void {
    this.#hasCompleted ||= request.isComplete
    this.#current = undefined
    this.respondedAt = performance.now()
    if (this.#isStalled) this.#schedulePause()
    this.#isStalled = false
    const next = this.#waiting.shift()
    if (!next) {
      if (this.#problem && request.isComplete && !this.socket.writableEnded)
        this.#shared.handlers.reject(this.socket, this.#problem)
      return
    }
    this.#shared.waiting--
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

  #pauseOrResume(): void {
    if (this.#problem) return
    if (this.#isStalled || this.#waiting.length > waitingPauseMax) this.socket.pause()
    else if (this.socket.isPaused()) this.socket.resume()
  }
}
