/**
 * Writes src/ as JavaScript to dist/, for the npm package: Node does not run TypeScript under node_modules.
 *
 * Types become spaces and `.ts` becomes `.js`, so lines and columns stay the same and source maps are not needed.
 */
import { cpSync, globSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { stripTypeScriptTypes } from 'node:module'
import { join } from 'node:path'
import { root } from './project.ts'

const folder = join(root, 'dist')
const localImport = /(?<=\b(?:from |import |import\()'\.{1,2}\/[^'\n]+\.)ts(?=')/g

rmSync(folder, { recursive: true, force: true })
cpSync(join(root, 'src'), folder, { recursive: true })
for (const path of globSync('**/*.ts', { cwd: folder })) {
  const file = join(folder, path)
  const script = stripTypeScriptTypes(readFileSync(file, 'utf8')).replace(localImport, 'js')
  writeFileSync(file.replace(/\.ts$/, '.js'), script)
  rmSync(file)
}
