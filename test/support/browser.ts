import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import {
  type Browser,
  type BrowserContextOptions,
  type LaunchOptions,
  type Page,
  chromium as playwright,
} from 'playwright-core'
import { findBrowser, installHint, noBrowserReason } from './findBrowser.ts'

/** Flags of the packaged browser that make it less strict than the browser of a reader. */
const lax = ['--disable-web-security', '--allow-running-insecure-content', '--single-process']
/** An installed browser stays off the network; Playwright adds --no-sandbox, without which root cannot start it. */
const quiet = [
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
]

export type TestBrowser = { browser: Browser; close(): Promise<void> }

/** Whether there is a browser. Without one `browserTest` needs no set-up. */
export const hasBrowser = findBrowser() !== undefined

/** A test that needs a browser. It is reported as skipped if there is none. */
export function browserTest(name: string, run: (t: TestContext) => Promise<void>): void {
  test(name, { skip: !hasBrowser && noBrowserReason }, run)
}

/** The browser of this run, which test/run.ts starts. A file that is run without it starts its own. */
export async function useBrowser(): Promise<TestBrowser> {
  const address = process.env.PETSTORE_TEST_BROWSER_SERVER
  if (address === undefined) return launchBrowser()
  const browser = await playwright.connect(address)
  return { browser, close: () => browser.close() }
}

/** A real Chromium with an empty profile. It resolves no host but this one. */
export async function launchBrowser(options: LaunchOptions = {}): Promise<TestBrowser> {
  const { started: browser, close } = await start((how) => playwright.launch({ ...options, ...how }))
  return { browser, close }
}

/** The same with HTTP/3 for this origin on this machine, whose certificate has this public key. */
export async function launchHttp3Browser(origin: URL, publicKeyHash: string): Promise<TestBrowser> {
  const more = [
    `--origin-to-force-quic-on=${origin.host}`,
    `--ignore-certificate-errors-spki-list=${publicKeyHash}`,
    `--host-resolver-rules=MAP ${origin.hostname} 127.0.0.1, MAP * ~NOTFOUND, EXCLUDE 127.0.0.1`,
  ]
  const { started: browser, close } = await start(({ executablePath, args }) =>
    playwright.launch({
      executablePath,
      args: [...args.filter((flag) => flag !== '--disable-quic'), ...more],
    }),
  )
  return { browser, close }
}

/** The same for several processes, which connect to its address. */
export async function launchBrowserServer(): Promise<{ address: string; close(): Promise<void> }> {
  const { started, close } = await start((how) => playwright.launchServer(how))
  return { address: started.wsEndpoint(), close }
}

type Prepared = { executablePath: string; args: string[] }

async function start<T extends { close(): Promise<void> }>(
  launch: (how: Prepared) => Promise<T>,
): Promise<{ started: T; close(): Promise<void> }> {
  const folder = mkdtempSync(join(tmpdir(), 'petstore-chromium-'))
  const remove = () => rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
  const { executablePath, args } = await prepareBrowser(folder).catch((error: unknown) => {
    remove()
    throw error
  })
  const only = '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1'
  const started = await launch({ executablePath, args: [...args, only] }).catch((error: Error) => {
    remove()
    throw new Error(`${executablePath} did not start. ${missingLibraries(executablePath)}`, { cause: error })
  })
  async function close() {
    await started.close()
    remove()
  }
  return { started, close }
}

async function prepareBrowser(folder: string): Promise<Prepared> {
  const found = findBrowser()
  if (found === undefined) throw new Error(`${noBrowserReason} ${installHint}`)
  if (found.kind === 'installed') return { executablePath: found.path, args: quiet }
  const { default: chromium } = await import('@sparticuz/chromium')
  chromium.setGraphicsMode = false
  // The package unpacks into the folder for temporary files and trusts what it finds there: give it an empty one.
  const { TMPDIR } = process.env
  process.env.TMPDIR = folder
  try {
    const executablePath = await chromium.executablePath()
    return { executablePath, args: chromium.args.filter((flag) => !lax.includes(flag)) }
  } finally {
    if (TMPDIR === undefined) delete process.env.TMPDIR
    else process.env.TMPDIR = TMPDIR
  }
}

function missingLibraries(executablePath: string): string {
  try {
    const listed = execFileSync('ldd', [executablePath], { encoding: 'utf8' })
    const missing = [...listed.matchAll(/^\s*(\S+) => not found/gm)].map((match) => match[1])
    return missing.length > 0
      ? `These system libraries are missing: ${missing.join(', ')}. On Debian and Ubuntu: apt-get install libnss3 libnspr4.`
      : 'No system library is missing; see the cause.'
  } catch {
    return 'Whether system libraries are missing is unknown, because ldd does not read this program; see the cause.'
  }
}

export type PageVisit = {
  page: Page
  /** Requests to other hosts than the service. All of them fail: the browser resolves no other host. */
  strayRequests: string[]
  /** Errors of the console and uncaught exceptions. */
  consoleErrors: string[]
  /** Violations of the page's Content-Security-Policy. */
  policyViolations(): Promise<string[]>
}

/** A page in a new context. */
export async function openPage(
  browser: Browser,
  base: string,
  options: BrowserContextOptions = {},
): Promise<PageVisit> {
  const context = await browser.newContext(options)
  return observe(await context.newPage(), base)
}

/** Records what a page does, from its next document on. */
export async function observe(page: Page, base: string): Promise<PageVisit> {
  const strayRequests: string[] = []
  const consoleErrors: string[] = []
  // An observer, not a route: a route makes every request slower and turns the cache of the browser off.
  page.on('request', (request) => {
    const url = request.url()
    if (/^(?:https?|wss?):/.test(url) && !url.startsWith(`${base}/`)) strayRequests.push(url)
  })
  page.on('console', (message) => message.type() === 'error' && consoleErrors.push(message.text()))
  page.on('pageerror', (error) => consoleErrors.push(String(error)))
  await page.addInitScript(`
    globalThis.policyViolations = []
    document.addEventListener('securitypolicyviolation', ({ effectiveDirective, blockedURI }) =>
      globalThis.policyViolations.push(effectiveDirective + ' ' + blockedURI))
  `)
  const policyViolations = () => page.evaluate<string[]>('globalThis.policyViolations')
  return { page, strayRequests, consoleErrors, policyViolations }
}
