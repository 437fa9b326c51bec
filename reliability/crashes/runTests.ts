import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('../../', import.meta.url))

export type TestRun = {
  readonly hasPassed: boolean
  readonly passed: number
  /** What the tests reported, by the name of the engine. */
  readonly reports: readonly { readonly engine: string; readonly text: string }[]
  readonly output: string
}

/** Runs test files as test/run.ts does, and reads what it prints. */
export async function runTests(
  files: readonly string[],
  engines: readonly string[],
  env: Record<string, string> = {},
): Promise<TestRun> {
  const [engine] = engines
  const options = engines.length === 1 ? ['--engine', engine as string] : []
  const child = spawn(process.execPath, ['test/run.ts', '--diagnostics', ...options, ...files], {
    cwd: root,
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const end = () => child.kill('SIGTERM')
  process.once('exit', end)
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text
    })
  const [code] = await once(child, 'close')
  process.off('exit', end)
  const counts = [...output.matchAll(/^\w+ +(\d+) passed, \d+ failed/gm)].map(([, passed]) => Number(passed))
  const reports = [...output.matchAll(/^ℹ (\w+): (.+)$/gm)].map(([, name = '', text = '']) => ({
    engine: name,
    text,
  }))
  return { hasPassed: code === 0, passed: counts.reduce((sum, passed) => sum + passed, 0), reports, output }
}
