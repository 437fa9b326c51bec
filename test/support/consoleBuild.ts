import { execFileSync } from 'node:child_process'
import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { writeClientTypes } from '../../tools/apiTypes.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))
const modifiedAt = (path: string): number => statSync(join(root, path)).mtimeMs
const newestIn = (folder: string): number =>
  Math.max(
    ...readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && entry.name !== 'schema.ts')
      .map((entry) => statSync(join(entry.parentPath, entry.name)).mtimeMs),
  )

/** The console is also built from the client, and from rules of the service, which are in src/. */
const otherSources = ['openapi.json', 'console/index.html', 'console/vite.config.ts']

/** Builds the console unless its build is newer than its sources. `npm ci` builds it, so it seldom takes time. */
export function ensureConsoleBuilt(): void {
  const built = statSync(join(root, 'console/dist/index.html'), { throwIfNoEntry: false })?.mtimeMs ?? 0
  const folders = ['console/src', 'client/src', 'src']
  if (built > Math.max(...folders.map(newestIn), ...otherSources.map(modifiedAt))) return
  execFileSync(process.execPath, ['tools/buildConsole.js'], { cwd: root, stdio: 'inherit' })
}

/** Tests import the sources of the client, a part of which is generated. */
export const ensureClientTypes = writeClientTypes
