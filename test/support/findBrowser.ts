import { accessSync, constants, statSync } from 'node:fs'
import { delimiter, join } from 'node:path'

/** A browser on disk, or the one that the package @sparticuz/chromium unpacks. */
type FoundBrowser = { kind: 'installed'; path: string } | { kind: 'packaged' }

type Machine = { env: NodeJS.ProcessEnv; platform: string; arch: string }

/** The headless shell first: the tests take half the CPU time with it. */
const programs = [
  'chromium-headless-shell',
  'chromium',
  'google-chrome',
  'google-chrome-stable',
  'chromium-browser',
]
const macPath = '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome'

/** The value of PETSTORE_TEST_BROWSER that stands for a machine without a browser. */
const none = 'none'

/** The reason of every test that is skipped because there is no browser; test/run.ts allows this reason alone. */
export const noBrowserReason = 'No browser was found on this machine.'

export const installHint =
  'Install one with "apt-get install chromium-headless-shell" (Debian), "snap install chromium" (Ubuntu) or "brew install --cask google-chrome" (macOS), or set PETSTORE_TEST_BROWSER to its path.'

const thisMachine: Machine = process

/**
 * The browser for the tests: PETSTORE_TEST_BROWSER, else an installed one, else the packaged one where it runs. The
 * packaged one is built for Linux on x64 only.
 */
export function findBrowser({ env, platform, arch }: Machine = thisMachine): FoundBrowser | undefined {
  const named = env.PETSTORE_TEST_BROWSER
  if (named === none) return undefined
  if (named) {
    if (!isProgram(named)) throw new Error(`PETSTORE_TEST_BROWSER is not a program: ${named}`)
    return { kind: 'installed', path: named }
  }
  const folders = (env.PATH ?? '').split(delimiter).filter((folder) => folder !== '')
  const paths = programs.flatMap((name) => folders.map((folder) => join(folder, name)))
  if (platform === 'darwin') paths.push(macPath)
  const path = paths.find(isProgram)
  if (path !== undefined) return { kind: 'installed', path }
  return platform === 'linux' && arch === 'x64' ? { kind: 'packaged' } : undefined
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return statSync(path).isFile()
  } catch {
    return false
  }
}
