import assert from 'node:assert/strict'
import { after, before } from 'node:test'
import type { Browser, BrowserContext, BrowserContextOptions } from 'playwright-core'
import { hasBrowser, observe, type PageVisit, type TestBrowser, useBrowser } from './browser.ts'
import { desktop } from './console.ts'
import { ensureConsoleBuilt } from './consoleBuild.ts'
import type { TestService } from './service.ts'
import { withIndexing } from './service.ts'
import { useService } from './useService.ts'

export type VisitOptions = BrowserContextOptions & {
  /** The key of the session, or `false` for none. Without it, the operator is signed in. */
  key?: string | false
  /** Another service than that of the file. */
  service?: TestService
}

/** One service and one browser for all tests of a file. Only hooks and tests can use them. */
export type ConsoleTest = {
  readonly service: TestService
  readonly browser: Browser
  /** Calls the API as the operator and returns the body. Fails unless the call succeeds. */
  // biome-ignore lint/suspicious/noExplicitAny: the tests know the bodies
  api(method: string, target: string, body?: unknown): Promise<any>
  /** Opens a page, runs the test with it, and closes it. The path is below /console, or begins with a slash. */
  visit(path: string, run: (opened: PageVisit) => Promise<void>, options?: VisitOptions): Promise<void>
}

/** Animations take CPU time, and checks of colours wait for their end. */
const still = { ...desktop, reducedMotion: 'reduce' } as const

/** Pages are rate limited by address, and the clock of a test service stands still: each page has another address. */
const addressTrusted = { PETSTORE_TRUSTED_PROXIES: '127.0.0.1' }
let visits = 0
const nextAddress = () => ({ 'x-forwarded-for': `198.51.${(++visits >> 8) & 255}.${visits & 255}` })

export function useConsole(
  env: Record<string, string> = {},
  prepare: (test: ConsoleTest) => Promise<void> = async () => {},
): ConsoleTest {
  const service = useService({ ...addressTrusted, ...env }, { startAt: 'now', bounds: withIndexing })
  let chromium: TestBrowser
  /** Visits without options of their own share its cache. */
  let shared: BrowserContext
  before(async () => {
    if (!hasBrowser) return
    ensureConsoleBuilt()
    chromium = await useBrowser()
    shared = await chromium.browser.newContext(still)
    await prepare(test)
  })
  after(() => chromium?.close())

  const test: ConsoleTest = {
    service,
    get browser() {
      return chromium.browser
    },
    async api(method, target, body) {
      const response = await service.request(method, `/v1${target}`, {
        key: service.operatorKey,
        ...(body !== undefined && { body }),
      })
      assert.ok(response.status < 300, response.text)
      return response.json
    },
    async visit(path, run, { service: other, key, ...options } = {}) {
      const { base, operatorKey } = other ?? service
      const isShared = Object.keys(options).length === 0
      const context = isShared ? shared : await chromium.browser.newContext({ ...still, ...options })
      const page = await context.newPage()
      try {
        await page.setExtraHTTPHeaders(nextAddress())
        const opened = await observe(page, base)
        if (key !== false) await page.addInitScript(rememberKey, key ?? operatorKey)
        await page.goto(base + (path.startsWith('/') ? path : `/console/${path}`))
        await run(opened)
      } finally {
        await (isShared ? page : context).close()
      }
    },
  }
  return test
}

/** Runs in the page: as if the person had signed in before. An empty document has no storage. */
function rememberKey(key: string): void {
  const { location, sessionStorage } = globalThis as unknown as {
    location: { protocol: string }
    sessionStorage: Record<string, string>
  }
  if (location.protocol.startsWith('http')) sessionStorage['petstore.key'] ??= key
}
