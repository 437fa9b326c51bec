import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { packClient } from '../support/clientPackage.ts'
import { temporaryFolder } from '../support/engine.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))
const pages = [
  'README.md',
  'client/README.md',
  ...readdirSync(join(root, 'docs/guides')).map((file) => `docs/guides/${file}`),
]

/** The blocks of a page that import the client, also those in the HTML of a web page, as TypeScript. */
function examplesOf(page: string): { name: string; code: string }[] {
  const text = readFileSync(join(root, page), 'utf8')
  const blocks = [...text.matchAll(/^```\w+\n([\s\S]*?)^```$/gm)].map(({ 1: block = '', index }) => ({
    name: `${page.replaceAll('/', '-')}-${text.slice(0, index).split('\n').length}.mts`,
    code: (/<script type="module">\n([\s\S]*?)<\/script>/.exec(block)?.[1] ?? block).replace(
      './petstore-client.min.js',
      '@petstore-service/client/petstore-client.min.js',
    ),
  }))
  return blocks.filter(({ code }) => /^ *import .* from '@petstore-service\/client/m.test(code))
}

/** A project that has the package of the client and the types of Node. */
function projectWith(files: readonly { name: string; code: string }[], lib: readonly string[]): string {
  const project = temporaryFolder()
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
  const compilerOptions = {
    ...{ module: 'nodenext', target: 'es2022', lib, types: ['node'], noEmit: true, strict: true },
    ...{ exactOptionalPropertyTypes: true, noUncheckedIndexedAccess: true, skipLibCheck: true },
  }
  writeFileSync(join(project, 'tsconfig.json'), JSON.stringify({ compilerOptions }))
  writeFileSync(join(project, 'package.json'), '{ "private": true, "type": "module" }')
  for (const { name, code } of files) writeFileSync(join(project, name), code)
  return project
}

/** The errors of the compiler, one in each line. */
function typeErrors(project: string): string[] {
  const tsc = join(root, 'node_modules/typescript/bin/tsc')
  try {
    execFileSync(process.execPath, [tsc, '-p', project, '--pretty', 'false'], { encoding: 'utf8' })
    return []
  } catch (error) {
    return (error as { stdout: string }).stdout.trim().split('\n')
  }
}

describe('the examples that use the client compile with strict', () => {
  const examples = pages.flatMap(examplesOf)

  test('there are examples in the README, in the guide of the client, and in another guide', () => {
    const count = (page: string) => examples.filter(({ name }) => name.startsWith(page)).length
    assert.ok(count('client-README.md') >= 1 && count('README.md') >= 1 && count('docs-guides-keys.md') >= 1)
    assert.ok(count('docs-guides-client.md') >= 8)
  })

  for (const [where, lib] of Object.entries({ Node: ['es2022'], 'a web page': ['es2022', 'dom'] })) {
    test(`with the types of ${where}`, (t) => {
      // This one does not compile, so the compiler has checked the files.
      const code = "import { Petstore } from '@petstore-service/client'\nnew Petstore({ apiKey: 'a-key' })\n"
      const project = projectWith([...examples, { name: 'wrong.mts', code }], lib)
      t.after(() => rmSync(project, { recursive: true, force: true }))
      const [first, ...others] = typeErrors(project).filter((line) => !line.startsWith(' '))
      assert.match(first ?? '', /wrong\.mts\(2,/)
      assert.deepEqual(others, [])
    })
  }
})
