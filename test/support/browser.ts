import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import chromium from '@sparticuz/chromium'
import { type Browser, type BrowserContextOptions, type Page, chromium as playwright } from 'playwright-core'

/** Flags that would make the browser laxer than the one of a reader. */
const lax = ['--disable-web-security', '--allow-running-insecure-content', '--single-process']

export type TestBrowser = { browser: Browser; close(): Promise<void> }

/** A real Chromium, unpacked into a folder of its own. It finds no other host than this one. */
export async function launchBrowser(): Promise<TestBrowser> {
  const folder = mkdtempSync(join(tmpdir(), 'petstore-chromium-'))
  const executablePath = await unpack(folder)
  const browser = await playwright
    .launch({
      executablePath,
      args: [
        ...chromium.args.filter((flag) => !lax.includes(flag)),
        '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1',
      ],
    })
    .catch((error: Error) => {
      rmSync(folder, { recursive: true, force: true })
      throw new Error(`Chromium did not start. ${missingLibraries(executablePath)}`, { cause: error })
    })
  async function close() {
    await browser.close()
    rmSync(folder, { recursive: true, force: true })
  }
  return { browser, close }
}

/** The package unpacks into the folder for temporary files and believes what it finds there: give it an empty one. */
async function unpack(folder: string): Promise<string> {
  const { TMPDIR } = process.env
  process.env.TMPDIR = folder
  try {
    return await chromium.executablePath()
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
    return 'Which system libraries are missing cannot be told, for there is no ldd. It needs at least libnss3 and libnspr4.'
  }
}

export type Visit = {
  page: Page
  /** Requests to anywhere but the service; all of them were refused. */
  strayRequests: string[]
  /** What the console called an error, and exceptions that nobody caught. */
  consoleErrors: string[]
  /** What the page's Content-Security-Policy had to prevent. */
  policyViolations(): Promise<string[]>
}

/** A page in a context of its own, closed to all the world but the service. */
export async function openPage(
  browser: Browser,
  base: string,
  options: BrowserContextOptions = {},
): Promise<Visit> {
  const context = await browser.newContext(options)
  const strayRequests: string[] = []
  const consoleErrors: string[] = []
  await context.route('**/*', (route) => {
    const url = route.request().url()
    if (url.startsWith(`${base}/`)) return route.continue()
    strayRequests.push(url)
    return route.abort()
  })
  await context.addInitScript(`
    globalThis.policyViolations = []
    document.addEventListener('securitypolicyviolation', ({ effectiveDirective, blockedURI }) =>
      globalThis.policyViolations.push(effectiveDirective + ' ' + blockedURI))
  `)
  const page = await context.newPage()
  page.on('console', (message) => message.type() === 'error' && consoleErrors.push(message.text()))
  page.on('pageerror', (error) => consoleErrors.push(String(error)))
  const policyViolations = () => page.evaluate<string[]>('globalThis.policyViolations')
  return { page, strayRequests, consoleErrors, policyViolations }
}
