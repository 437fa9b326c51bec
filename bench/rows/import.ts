/** Row 14: `petstore import` of an export into an empty SQLite database. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createWriteStream } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { type Checkout, petstore } from '../data/checkout.ts'
import { cachedDir, createRunDir } from '../data/databases.ts'
import { pinned } from '../host/cores.ts'
import { cleanEnv, runProgram, trackChild } from '../host/processes.ts'
import type { Measurement } from '../measure/context.ts'
import { spreadOf } from '../statistics.ts'
import { rows } from '../targets.ts'

const petCount = 1_000_000
const quickPetCount = 100_000
const roundsMax = 5

export const importSpeed: Measurement = {
  rows: [rows.import],
  async run({ options, cores, checkout, progress }) {
    const count = options.isQuick ? quickPetCount : petCount
    progress(`import: preparing ${count.toLocaleString('en')} pets`)
    const file = join(await exportedPets(checkout, count), 'pets.ndjson')
    const rates: number[] = []
    const rounds = Math.min(options.rounds, roundsMax)
    for (let round = 0; round < rounds; round++) {
      const dataDir = createRunDir()
      const startedAt = performance.now()
      // An import has the whole machine: it uses more than one thread.
      await runProgram(pinned(cores, cores.all, petstore(checkout, 'import', file)), {
        PETSTORE_DATA_DIR: dataDir,
      })
      const rate = count / ((performance.now() - startedAt) / 1000)
      rates.push(rate)
      progress(`import: round ${round + 1} of ${rounds}, ${Math.round(rate)}/s`)
      await rm(dataDir, { recursive: true })
    }
    const detail = `${count.toLocaleString('en')} pets, from the start to the end of the command, all cores`
    return [{ row: rows.import, measured: spreadOf(rates), detail }]
  },
}

const exportedPets = (checkout: Checkout, count: number) =>
  cachedDir(checkout, `export-${count}`, async (dir) => {
    const env = { PETSTORE_DATA_DIR: createRunDir() }
    await runProgram(petstore(checkout, 'seed', '--count', String(count)), env)
    const [program = '', ...args] = petstore(checkout, 'export', '--without-keys')
    const child = spawn(program, args, { env: cleanEnv(env), stdio: ['ignore', 'pipe', 'inherit'] })
    trackChild(child)
    const exited = once(child, 'exit')
    await pipeline(child.stdout, createWriteStream(join(dir, 'pets.ndjson')))
    const [code] = await exited
    if (code !== 0) throw new Error(`petstore export exited with status ${code}.`)
    await rm(env.PETSTORE_DATA_DIR, { recursive: true })
  })
