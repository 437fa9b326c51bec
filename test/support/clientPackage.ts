import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { temporaryFolder } from './engine.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))
let packed: { tarball: string; folder: string } | undefined

/** A copy of what the package is built from, in this folder. */
export function copySources(copy: string): void {
  for (const path of ['openapi.json', 'tsconfig.json', 'tools', 'client/src'])
    cpSync(join(root, path), join(copy, path), { recursive: true })
  for (const name of readdirSync(join(root, 'client'), { withFileTypes: true }))
    if (name.isFile()) cpSync(join(root, 'client', name.name), join(copy, 'client', name.name))
  symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'))
}

/**
 * Packs the client as `npm pack` does in client/, in a copy of the sources: several test processes do this at the same
 * time. `folder` is a project with the package in its node_modules.
 */
export function packClient(): { tarball: string; folder: string } {
  if (packed) return packed
  const copy = temporaryFolder()
  const folder = temporaryFolder()
  process.once('exit', () => {
    for (const path of [copy, folder]) rmSync(path, { recursive: true, force: true })
  })
  copySources(copy)
  const output = execFileSync('npm', ['pack', '--silent', '--pack-destination', copy], {
    cwd: join(copy, 'client'),
    encoding: 'utf8',
  })
  const tarball = join(copy, output.trim())
  const target = join(folder, 'node_modules', '@petstore-service', 'client')
  mkdirSync(target, { recursive: true })
  execFileSync('tar', ['-xzf', tarball, '-C', target, '--strip-components', '1'])
  packed = { tarball, folder }
  return packed
}

/** The first block of a page in this language. */
export const firstBlock = (page: string, language: string): string =>
  new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\`$`, 'm').exec(
    readFileSync(join(root, page), 'utf8'),
  )?.[1] ?? ''
