import assert from 'node:assert/strict'
import { beforeEach, describe, mock, type TestContext, test } from 'node:test'
import { type Petstore, Submission } from '../../client/src/index.ts'

/** The modules of the console that send requests, with a fetch that the tests answer. */

type Fetched = { url: string; init: RequestInit & { headers: Headers } }
type Store = {
  /** It is another one after `openStore`. */
  readonly store: Petstore
  openStore(key: string): void
  closeStore(): void
  handleKeyRejected(handler: () => void): void
}
type Stream = {
  streamState: { value: string }
  startStream(): void
  stopStream(): void
  streamReady(): Promise<void>
  reconnectNow(): void
  followEvents(onEvent: () => void, onResync: () => void): () => void
}

const page = { addEventListener() {}, location: { href: 'http://127.0.0.1/console' } }
Object.assign(globalThis, page)
const load = (path: string): Promise<unknown> =>
  import(new URL(`../../console/src/${path}`, import.meta.url).href)
const session = (await load('app/store.ts')) as Store
const { openStore, closeStore, handleKeyRejected } = session
const { streamState, startStream, stopStream, streamReady, reconnectNow, followEvents } = (await load(
  'app/stream.ts',
)) as Stream
const { toRequestError } = (await load('app/errors.ts')) as {
  toRequestError(thrown: unknown): { isOffline: boolean; message: string }
}

let requests: Fetched[] = []
let answers: PromiseWithResolvers<Response>[] = []
mock.method(globalThis, 'fetch', (url: string, init: Fetched['init']) => {
  requests.push({ url, init })
  const answer = Promise.withResolvers<Response>()
  answers.push(answer)
  init.signal?.addEventListener('abort', () => answer.reject(init.signal?.reason))
  return answer.promise
})
const settled = () => new Promise((resolve) => setImmediate(resolve))
/** The request is sent a little after the call. */
async function respond(response: Response): Promise<void> {
  await settled()
  answers.at(-1)?.resolve(response)
}
async function fail(): Promise<void> {
  await settled()
  answers.at(-1)?.reject(new TypeError('Failed to fetch'))
}
const errorResponse = (status: number, code: string, headers: Record<string, string> = {}) =>
  Response.json({ status, code, message: code }, { status, headers })

beforeEach(() => {
  requests = []
  answers = []
  openStore('first')
})

describe('a request of the console', () => {
  test('with an earlier secret does not end the session of the current one', async () => {
    let ended = 0
    handleKeyRejected(() => {
      ended++
    })
    const late = session.store.limits.get()
    await settled()
    openStore('second')
    await respond(errorResponse(401, 'invalid_api_key'))
    await assert.rejects(late, { code: 'invalid_api_key' })
    assert.equal(ended, 0)
    const current = session.store.limits.get()
    await respond(errorResponse(401, 'invalid_api_key'))
    await assert.rejects(current, { code: 'invalid_api_key' })
    assert.equal(ended, 1)
  })

  test('returns nothing to the next session', async () => {
    const late = assert.rejects(session.store.limits.get(), { name: 'AbortError' })
    await settled()
    closeStore()
    openStore('second')
    await respond(Response.json({ keyId: 1 }))
    await late
  })

  test('that a person can no longer undo is sent although the session ends', async () => {
    const removal = session.store.pets.delete(7, { keepalive: true })
    await settled()
    closeStore()
    await respond(new Response(null, { status: 204 }))
    await removal
    assert.equal(requests.at(-1)?.init.keepalive, true)
  })

  test('has the same Idempotency-Key while its outcome is unknown', async () => {
    const submission = new Submission()
    const keys = async (name: string, answer: () => Promise<void>) => {
      const sent = session.store.categories.create({ name }, { submission })
      await answer()
      await sent.catch(() => {})
      return requests.at(-1)?.init.headers.get('Idempotency-Key')
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
    const sent = session.store.limits.get()
    const body = new ReadableStream({
      start: (controller) => controller.error(new TypeError('network error')),
    })
    await respond(new Response(body))
    await assert.rejects(sent, (thrown) => toRequestError(thrown).isOffline)
  })

  test('whose response was replaced by a page says so', async () => {
    const sent = session.store.limits.get()
    await respond(new Response('<!doctype html><title>Sign in to the network</title>'))
    await assert.rejects(sent, (thrown) =>
      toRequestError(thrown).message.startsWith('The response is not from the service.'),
    )
  })
})

describe('the event stream of the console', () => {
  const streamHeaders = { 'content-type': 'text/event-stream', 'last-event-id': '7' }
  const open = () => respond(new Response(new ReadableStream({ start() {} }), { headers: streamHeaders }))

  test('beyond the limit of the key waits for minutes, and longer than the API asks for', async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout', 'Date'], now: Date.now() })
    t.after(stopStream)
    startStream()
    await respond(errorResponse(429, 'too_many_streams', { 'retry-after': '5' }))
    await settled()
    assert.equal(streamState.value, 'limited')
    reconnectNow()
    t.mock.timers.tick(60_000)
    await settled()
    assert.equal(requests.length, 1)
    t.mock.timers.tick(2 * 60_000)
    await settled()
    assert.equal(requests.length, 2)
    await open()
    await settled()
    assert.equal(streamState.value, 'live')
  })

  /** Starts the stream, and counts how often it lets the screens load again. */
  function startCountedStream(t: TestContext): () => number {
    t.mock.timers.enable({ apis: ['setTimeout'] })
    t.after(stopStream)
    let resyncs = 0
    t.after(
      followEvents(
        () => {},
        () => {
          resyncs++
        },
      ),
    )
    startStream()
    return () => resyncs
  }

  test('that opens after screens have loaded lets them load again, once', async (t) => {
    const resyncCount = startCountedStream(t)
    const ready = streamReady()
    t.mock.timers.tick(1_500)
    await ready
    await open()
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
    await respond(new Response(stream, { headers: streamHeaders }))
    await settled()
    body.resolve()
    await settled()
    t.mock.timers.tick(1_000)
    await settled()
    assert.equal(requests.at(-1)?.init.headers.get('Last-Event-ID'), '7')
    await respond(errorResponse(410, 'events_expired'))
    await settled()
    t.mock.timers.tick(0)
    await settled()
    assert.equal(requests.at(-1)?.init.headers.get('Last-Event-ID'), null)
    assert.equal(resyncCount(), 0)
    await open()
    await settled()
    assert.equal(resyncCount(), 1)
  })
})
