import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { type Env, runProgram } from '../host/processes.ts'

/** A checkout of the service: this repository, or another one that `--service` or `--compare` names. */
export type Checkout = {
  readonly dir: string
  readonly version: string
  /** The options and variables that `npm start` passes to Node. */
  readonly nodeOptions: readonly string[]
  readonly nodeEnv: Env
  /** Identifies the schema and the seed data, so a database of another schema is not reused. */
  readonly fingerprint: string
}

/** Change it when the databases of the bench are filled differently. */
const formatVersion = '4'

export function openCheckout(path: string): Checkout {
  const dir = resolve(path)
  const { version, scripts } = JSON.parse(readFileSync(join(dir, 'package.json'), 'utf8'))
  const words = String(scripts.start).split(' ')
  return {
    dir,
    version,
    nodeOptions: words.filter((word) => word.startsWith('--')),
    nodeEnv: Object.fromEntries(
      words.filter((word) => /^[A-Z_]+=/.test(word)).map((word) => word.split('=')),
    ),
    fingerprint: fingerprintOf(join(dir, 'src')),
  }
}

function fingerprintOf(srcDir: string): string {
  const hash = createHash('sha256').update(formatVersion)
  const files = readdirSync(srcDir, { recursive: true, encoding: 'utf8' })
  // The layout of src/ differs between versions.
  for (const file of files.filter((path) => /migrations\/.*\.\w+$|commands\/seed\.ts$/.test(path)).toSorted())
    hash.update(readFileSync(join(srcDir, file)))
  return hash.digest('hex').slice(0, 8)
}

/** A command of the service. */
export const petstore = ({ dir }: Checkout, ...args: string[]): string[] => [
  process.execPath,
  join(dir, 'bin', 'petstore.js'),
  ...args,
]

/** High enough that no load reaches it. */
export const rateLimit = 1_000_000_000

export async function createKey(checkout: Checkout, env: Env, ...options: string[]): Promise<string> {
  await runProgram(petstore(checkout, 'migrate'), env)
  const limits = ['--plan', 'enterprise', '--per-minute', String(rateLimit), '--per-day', String(rateLimit)]
  const command = petstore(checkout, 'keys', 'create', '--name', 'bench', ...limits, ...options, '--json')
  return JSON.parse(await runProgram(command, env)).key
}
