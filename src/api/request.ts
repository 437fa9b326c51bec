import { randomBytes } from 'node:crypto'

/** Why the server could not read a request as HTTP, or does not serve it. */
export type RequestProblem =
  | 'overloaded'
  | 'invalid_http'
  | 'invalid_target'
  | 'connect_method'
  | 'headers_too_large'
  | 'chunk_extensions_too_large'
  | 'timeout'

/** How long a body may take to arrive: `startMs`, and longer if its bytes arrive fast enough, up to `totalMs`. */
export type BodyTime = {
  readonly startMs: number
  readonly bytesPerSecondMin: number
  readonly totalMs: number
}

export type BodyLimits = {
  readonly bytesMax: number
  /** In place of the time that the server allows for every request. */
  readonly time?: BodyTime
}

const changes = new Set(['POST', 'PATCH', 'DELETE'])

/** Whether a request with this method can change something. */
export const isChange = (method: string): boolean => changes.has(method)

/** A request as the pipeline sees it, on every runtime. */
export type ApiRequest = {
  readonly method: string
  /** Path and query. The path has no dot segments. Empty if the request could not be read. */
  readonly target: string
  readonly remoteAddress: string
  /** Set if the request is to be rejected without being served. */
  readonly problem?: RequestProblem | undefined
  /** Whether all of it has arrived. Undefined if the runtime does not know it. */
  readonly isComplete?: boolean
  /** Whether the caller has closed the connection, so that it gets no response. */
  readonly isDisconnected?: boolean
  /** `name` is in lower case. */
  header(name: string): string | undefined
  /** Resolves to undefined if the body is larger than `bytesMax`. Rejects with a BodyError, or if the body ends early. */
  body(limits: BodyLimits): Promise<Uint8Array | undefined>
}

/** The body turned out not to be HTTP, or did not arrive in time. */
export class BodyError extends Error {
  readonly problem: RequestProblem

  constructor(problem: RequestProblem) {
    super(`The body cannot be read: ${problem}.`)
    this.problem = problem
  }
}

const requestIdLength = 22
let randomText = ''
let randomUsed = 0

/** 132 random bits, cut from a text that lasts for 186 requests. */
export function newRequestId(): string {
  if (randomUsed + requestIdLength > randomText.length) {
    randomText = randomBytes(3 * 1024).toString('base64url')
    randomUsed = 0
  }
  randomUsed += requestIdLength
  return randomText.slice(randomUsed - requestIdLength, randomUsed)
}

/** The id that the client sent, if it is valid. */
export const parseRequestId = (given: string | undefined): string | undefined =>
  given !== undefined && /^[A-Za-z0-9._-]{1,128}$/.test(given) ? given : undefined

/**
 * Whether a client prefers `type` to `other` (RFC 9110, 12.5.1): by weight, then by the precision of the matching range. False if
 * both are equal, or if it accepts neither.
 */
export function prefersType(accept: string | undefined, type: string, other: string): boolean {
  const [first, second] = [acceptanceOf(accept ?? '', type), acceptanceOf(accept ?? '', other)]
  if (first.weight !== second.weight) return first.weight > second.weight
  return first.weight > 0 && first.precision > second.precision
}

/** What the most precise range says that matches the type. Parameters other than the weight are ignored. */
function acceptanceOf(accept: string, type: string): { weight: number; precision: number } {
  const ranges = ['*/*', type.replace(/\/.*/, '/*'), type]
  let found = { weight: 0, precision: -1 }
  for (const entry of accept.toLowerCase().split(',')) {
    const [range = '', ...parameters] = entry.split(';').map((part) => part.trim())
    const precision = ranges.indexOf(range)
    if (precision > found.precision) found = { weight: weightOf(parameters), precision }
  }
  return found
}

/** A malformed weight counts as 0. */
function weightOf(parameters: readonly string[]): number {
  const weight = parameters.find((parameter) => parameter.startsWith('q='))?.slice(2)
  if (weight === undefined) return 1
  return /^(?:0(?:\.\d*)?|1(?:\.0*)?)$/.test(weight) ? Number(weight) : 0
}
