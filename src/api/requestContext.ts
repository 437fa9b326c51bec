import { randomBytes } from 'node:crypto'
import type { Clock } from '../clock.ts'
import type { RateLimitHeaders } from './callerHeaders.ts'
import { deprecationHeaders } from './deprecation.ts'
import type { Context, Operation, Principal } from './operation.ts'
import type { ApiRequest } from './request.ts'
import type { ResponseTemplate } from './response.ts'
import type { Route } from './router.ts'

/** What is known of one request on its way. */
export type RequestContext = {
  readonly request: ApiRequest
  readonly startedAt: number
  readonly requestId: string
  readonly isRequestIdGenerated: boolean
  readonly method: string
  readonly path: string
  readonly route: Route | undefined
  readonly operation: Operation | undefined
  readonly address: string
  readonly now: number
  /** What all answers of the operation say. */
  readonly template: ResponseTemplate
  /** Set by the steps, sent with whatever answer there is: most have nothing to add. */
  corsHeaders: Readonly<Record<string, string>> | undefined
  /** How the caller's windows stand, once it is counted. */
  rateLimitHeaders: RateLimitHeaders | undefined
  principal: Principal | undefined
  /** Which state of the store the request has found, where that is known. */
  storeVersion: number | undefined
}

/** What is known of it in the end. */
export type RequestLog = {
  readonly requestId: string
  /** Whether it is one of ours, and not the caller's. */
  readonly isRequestIdGenerated: boolean
  readonly method: string
  readonly path: string
  readonly operation: Operation | undefined
  readonly principal: Principal | undefined
  readonly address: string
  readonly status: number
  readonly code: string | undefined
  readonly seconds: number
  /** What was thrown, where the answer is a 5xx. */
  readonly error: unknown
}

/** What all answers of an operation say. */
export const headersOf = ({ stability, deprecation }: Operation, publicUrl: string | undefined) => ({
  ...(stability && stability !== 'stable' && { 'X-Stability': stability }),
  ...(deprecation && deprecationHeaders(deprecation, publicUrl)),
})

export function contextOf(
  { request: incoming, now, address }: RequestContext,
  caller: Principal,
  clock: Clock,
): Context {
  return { now, clock, principal: caller, address, header: (name: string) => incoming.header(name) }
}

/** Whether a request comes from one of the origins that its key is locked to. */
export function isHome(incoming: ApiRequest, caller: Principal): boolean {
  const origin = incoming.header('origin')
  return origin !== undefined && caller.origins.includes(origin)
}

const requestIdLength = 22
let randomText = ''
let randomUsed = 0

/** 132 random bits, cut from a text that is made for many. */
export function newRequestId(): string {
  if (randomUsed + requestIdLength > randomText.length) {
    randomText = randomBytes(3 * 1024).toString('base64url')
    randomUsed = 0
  }
  randomUsed += requestIdLength
  return randomText.slice(randomUsed - requestIdLength, randomUsed)
}

/** The caller's own, where it is one that can be shown. */
export const givenRequestId = (given: string | undefined): string | undefined =>
  given !== undefined && /^[A-Za-z0-9._-]{1,128}$/.test(given) ? given : undefined
