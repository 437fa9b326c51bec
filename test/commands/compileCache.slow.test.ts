import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
} from 'node:fs'
import { join } from 'node:path'
import { after, describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { temporaryFolder } from '../support/engine.ts'
import { preloadOption } from '../support/process.ts'

type CompileCache = { compileCacheFolder(env: object, uid: number): string | undefined }
const { compileCacheFolder }: CompileCache = await import('../../bin/compileCache.js' as string)
const program = fileURLToPath(new URL('../../bin/petstore.js', import.meta.url))
const preload = `import { getCompileCacheDir } from 'node:module'
process.on('exit', () => console.error('cache=' + (getCompileCacheDir() ?? 'none')))`

const root = realpathSync(temporaryFolder())
after(() => rmSync(root, { recursive: true, force: true }))
let folders = 0
/** A new folder with exactly this mode. */
function newFolder(mode = 0o700): string {
  const path = join(root, String(++folders))
  mkdirSync(path)
  chmodSync(path, mode)
  return path
}
/** $XDG_CACHE_HOME with the folder "petstore" in it, of this mode. */
function cacheWith(mode: number, parentMode = 0o700): string {
  const parent = newFolder(parentMode)
  mkdirSync(join(parent, 'petstore'))
  chmodSync(join(parent, 'petstore'), mode)
  return parent
}

/** The folder that the command uses for compiled code, or "none". */
async function cacheOf(env: Record<string, string>): Promise<string> {
  const { stderr } = await promisify(execFile)(process.execPath, [preloadOption(preload), program, 'help'], {
    env: { PATH: String(process.env.PATH), ...env },
  })
  return String(/^cache=(.*)$/m.exec(stderr)?.[1])
}

async function assertUnused(env: Record<string, string>, folder: string) {
  const before = readdirSync(folder)
  assert.equal(await cacheOf(env), 'none')
  assert.deepEqual(readdirSync(folder), before)
}

describe('compiled code', () => {
  test('is never loaded from the shared folder for temporary files', async () => {
    const TMPDIR = newFolder(0o1777)
    mkdirSync(join(TMPDIR, 'node-compile-cache'))
    for (const HOME of [undefined, join(root, 'missing'), '', 'relative'])
      await assertUnused({ TMPDIR, ...(HOME !== undefined && { HOME }) }, join(TMPDIR, 'node-compile-cache'))
    assert.equal(existsSync(join(root, 'missing')), false)
  })

  test('is cached below XDG_CACHE_HOME, in a folder of mode 0700', async () => {
    const XDG_CACHE_HOME = join(newFolder(), 'cache')
    const folder = join(XDG_CACHE_HOME, 'petstore')
    for (const _ of ['made by the first', 'used by the second'])
      assert.ok((await cacheOf({ XDG_CACHE_HOME, HOME: newFolder() })).startsWith(folder))
    assert.equal(statSync(folder).mode & 0o777, 0o700)
    assert.ok(readdirSync(folder).length > 0)
  })

  test('is cached in the home folder if XDG_CACHE_HOME is unset or relative', async () => {
    const HOME = newFolder()
    const folder = join(HOME, '.cache', 'petstore')
    for (const env of [{ HOME }, { HOME, XDG_CACHE_HOME: 'relative' }, { HOME, XDG_CACHE_HOME: '' }])
      assert.ok((await cacheOf(env)).startsWith(folder))
  })

  test('is not loaded from a folder that others can read or write', async () => {
    for (const mode of [0o777, 0o1777, 0o720, 0o702, 0o755, 0o710]) {
      const XDG_CACHE_HOME = cacheWith(mode)
      await assertUnused({ XDG_CACHE_HOME }, join(XDG_CACHE_HOME, 'petstore'))
    }
  })

  test('is not loaded from a folder that others can replace', async () => {
    for (const mode of [0o777, 0o770]) {
      const XDG_CACHE_HOME = cacheWith(0o700, mode)
      await assertUnused({ XDG_CACHE_HOME }, join(XDG_CACHE_HOME, 'petstore'))
      const below = join(newFolder(mode), 'below')
      mkdirSync(join(below, 'petstore'), { recursive: true, mode: 0o700 })
      await assertUnused({ XDG_CACHE_HOME: below }, join(below, 'petstore'))
    }
    assert.notEqual(await cacheOf({ XDG_CACHE_HOME: cacheWith(0o700, 0o1777) }), 'none')
  })

  test('is not loaded through a symbolic link', async () => {
    const [target, XDG_CACHE_HOME] = [newFolder(), newFolder()]
    symlinkSync(target, join(XDG_CACHE_HOME, 'petstore'))
    await assertUnused({ XDG_CACHE_HOME }, target)
  })

  test('is not loaded from a folder of another user', () => {
    const env = { XDG_CACHE_HOME: cacheWith(0o700) }
    const own = process.geteuid?.() ?? 0
    assert.equal(compileCacheFolder(env, own), join(env.XDG_CACHE_HOME, 'petstore'))
    assert.equal(compileCacheFolder(env, own + 1), undefined)
  })

  test('is cached in the folder that NODE_COMPILE_CACHE names', async () => {
    const NODE_COMPILE_CACHE = newFolder()
    assert.ok((await cacheOf({ NODE_COMPILE_CACHE, HOME: newFolder() })).startsWith(NODE_COMPILE_CACHE))
  })
})
