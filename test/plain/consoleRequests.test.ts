import assert from 'node:assert/strict'
import { beforeEach, describe, mock, type TestContext, test } from 'node:test'

/** The modules of the console that send requests, with a fetch that the tests answer. */

type Fetched = { url: string; init: RequestInit & { headers: Record<string, string> } }
type Client = {
  call(id: string, options?: object): Promise<unknown>
  setApiKey(key: string | undefined): void
  handleUnauthorized(handler: () => void): void
  Submission: new () => object
}
type Stream = {
  streamState: { value: string }
  startStream(): void
  stopStream(): void
  streamReady(): Promise<void>
  reconnectNow(): void
  onResync(listener: () => void): () => void
}

const page = { addEventListener() {}, location: { origin: 'http://127.0.0.1' } }
Object.assign(globalThis, page)
const load = (path: string): Promise<unknown> =>
  import(new URL(`../../console/src/${path}`, import.meta.url).href)
const { call, setApiKey, handleUnauthorized, Submission } = (await load('api/client.ts')) as Client
const { streamState, startStream, stopStream, streamReady, reconnectNow, onResync } = (await load(
  'api/stream.ts',
)) as Stream

let requests: Fetched[] = []
let answers: PromiseWithResolvers<Response>[] = []
mock.method(globalThis, 'fetch', (url: string, init: Fetched['init']) => {
  requests.push({ url, init })
  const answer = Promise.withResolvers<Response>()
  answers.push(answer)
  init.signal?.addEventListener('abort', () => answer.reject(init.signal?.reason))
  return answer.promise
})
const respond = (response: Response) => answers.at(-1)?.resolve(response)
const fail = () => answers.at(-1)?.reject(new TypeError('Failed to fetch'))
const errorResponse = (status: number, code: string, headers: Record<string, string> = {}) =>
  Response.json({ status, code, message: code }, { status, headers })
const settled = () => new Promise((resolve) => setImmediate(resolve))

beforeEach(() => {
  requests = []
  answers = []
  setApiKey('first')
})

describe('a request of the console', () => {
  test('with an earlier secret does not end the session of the current one', async () => {
    let ended = 0
    handleUnauthorized(() => {
      ended++
    })
    const late = call('getLimits')
    setApiKey('second')
    respond(errorResponse(401, 'invalid_api_key'))
    await assert.rejects(late, { code: 'invalid_api_key' })
    assert.equal(ended, 0)
    const current = call('getLimits')
    respond(errorResponse(401, 'invalid_api_key'))
    await assert.rejects(current, { code: 'invalid_api_key' })
    assert.equal(ended, 1)
  })

  test('returns nothing to the next session', async () => {
    const late = call('getLimits')
    setApiKey(undefined)
    setApiKey('second')
    respond(Response.json({ keyId: 1 }))
    await assert.rejects(late, { name: 'AbortError' })
  })

  test('has the same Idempotency-Key while its outcome is unknown', async () => {
    const submission = new Submission()
    const keys = async (name: string, answer: () => void) => {
      const sent = call('createCategory', { body: { name }, submission })
      answer()
      await sent.catch(() => {})
      return requests.at(-1)?.init.headers['Idempotency-Key']
    }
    const lost = await keys('Dogs', fail)
    const unavailable = await keys('Dogs', () => respond(errorResponse(503, 'unavailable')))
    assert.equal(unavailable, lost)
    const conflict = await keys('Dogs', () => respond(errorResponse(409, 'category_name_taken')))
    assert.equal(conflict, lost)
    const later = await keys('Dogs', fail)
    assert.notEqual(later, lost, 'An error that was received would be replayed.')
    assert.notEqual(await keys('Cats', fail), later, 'Another body is another request.')
  })

  test('whose response ends early is a network error', async () => {
    const sent = call('getLimits')
    const body = new ReadableStream({
      start: (controller) => controller.error(new TypeError('network error')),
    })
    respond(new Response(body))
    await assert.rejects(sent, { code: 'network_error' })
  })

  test('whose response was replaced by a page says so', async () => {
    const sent = call('getLimits')
    respond(new Response('<!doctype html><title>Sign in to the network</title>'))
    await assert.rejects(sent, { code: 'internal_error', message: /^The response is not from the service\./ })
  })
})

describe('the event stream of the console', () => {
  const open = () =>
    respond(new Response(new ReadableStream({ start() {} }), { headers: { 'last-event-id': '7' } }))

  test('beyond the limit of the key waits for minutes, and longer than the API asks for', async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout', 'Date'], now: Date.now() })
    t.after(stopStream)
    startStream()
    respond(errorResponse(429, 'too_many_streams', { 'retry-after': '5' }))
    await settled()
    assert.equal(streamState.value, 'limited')
    reconnectNow()
    t.mock.timers.tick(60_000)
    await settled()
    assert.equal(requests.length, 1)
    t.mock.timers.tick(2 * 60_000)
    await settled()
    assert.equal(requests.length, 2)
    open()
    await settled()
    assert.equal(streamState.value, 'live')
  })

  /** Starts the stream, and counts how often it lets the screens load again. */
  function startCountedStream(t: TestContext): () => number {
    t.mock.timers.enable({ apis: ['setTimeout'] })
    t.after(stopStream)
    let resyncs = 0
    t.after(
      onResync(() => {
        resyncs++
      }),
    )
    startStream()
    return () => resyncs
  }

  test('that opens after screens have loaded lets them load again, once', async (t) => {
    const resyncCount = startCountedStream(t)
    const ready = streamReady()
    t.mock.timers.tick(1_500)
    await ready
    open()
    await settled()
    assert.equal(resyncCount(), 1)
    await streamReady()
    assert.equal(resyncCount(), 1)
  })

  test('whose position has expired lets screens load again', async (t) => {
    const resyncCount = startCountedStream(t)
    const body = Promise.withResolvers<void>()
    const stream = new ReadableStream({
      start: (controller) => void body.promise.then(() => controller.close()),
    })
    respond(new Response(stream, { headers: { 'last-event-id': '7' } }))
    await settled()
    body.resolve()
    await settled()
    t.mock.timers.tick(1_000)
    await settled()
    assert.equal(requests.at(-1)?.init.headers['Last-Event-ID'], '7')
    respond(errorResponse(410, 'events_expired'))
    await settled()
    t.mock.timers.tick(0)
    await settled()
    assert.equal(requests.at(-1)?.init.headers['Last-Event-ID'], undefined)
    assert.equal(resyncCount(), 0)
    open()
    await settled()
    assert.equal(resyncCount(), 1)
  })
})
