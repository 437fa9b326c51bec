import assert from 'node:assert/strict'
import { execFile, execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { operations } from '../../client/src/schema.ts'
import { packClient } from '../support/clientPackage.ts'
import { clientRuntimes } from '../support/clientRuntimes.ts'
import { temporaryFolder } from '../support/engine.ts'
import { startServer } from '../support/process.ts'
import { assertSameNames } from '../support/sameNames.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))
const project = temporaryFolder()
after(() => rmSync(project, { recursive: true, force: true }))

before(() => {
  const modules = join(project, 'node_modules')
  mkdirSync(join(modules, '@types'), { recursive: true })
  cpSync(
    join(packClient().folder, 'node_modules/@petstore-service/client'),
    join(modules, '@petstore-service/client'),
    {
      recursive: true,
    },
  )
  symlinkSync(join(root, 'node_modules/@types/node'), join(modules, '@types/node'))
  const source = readFileSync(join(root, 'test/support/everyMethod.ts'), 'utf8')
  writeFileSync(
    join(project, 'program.mts'),
    source.replace('../../client/src/index.ts', '@petstore-service/client'),
  )
  const compilerOptions = {
    ...{ module: 'nodenext', target: 'es2022', lib: ['es2022'], types: ['node'], strict: true },
    ...{ exactOptionalPropertyTypes: true, noUncheckedIndexedAccess: true },
  }
  writeFileSync(join(project, 'tsconfig.json'), JSON.stringify({ compilerOptions }))
  const tsc = join(root, 'node_modules/typescript/bin/tsc')
  execFileSync(process.execPath, [tsc, '-p', project], { stdio: 'pipe' })
})

describe('a strict TypeScript program uses every method of the client', () => {
  for (const { name, skip, program, args } of clientRuntimes()) {
    test(`on ${name}`, { skip }, async (t) => {
      const server = await startServer({ PETSTORE_WEBHOOK_ALLOW: '127.0.0.1/32' })
      t.after(() => server.child.kill('SIGKILL'))
      const { stdout } = await promisify(execFile)(program, [...args, 'program.mjs'], {
        cwd: project,
        timeout: 60_000,
        env: {
          ...process.env,
          NODE_TEST_CONTEXT: '',
          PETSTORE: server.base,
          PETSTORE_KEY: server.operatorKey,
        },
      })
      assert.equal(stdout, 'Every method works.\n')
      server.child.kill('SIGTERM')
      const { stderr } = await server.ended
      const used = [...stderr.matchAll(/"operation":"(\w+)"/g)].map(([, id]) => id)
      assertSameNames(
        'Operations that test/support/everyMethod.ts uses',
        used.map(String),
        Object.keys(operations),
      )
    })
  }
})
