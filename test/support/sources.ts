import { readdirSync, readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'

const folder = fileURLToPath(new URL('../../src/', import.meta.url))

export type Source = {
  /** Relative to src/, with slashes. */
  path: string
  text: string
  /** The first folder below src/; empty for the files at its top. */
  room: string
}

/** Every source file as text, for rules about the code. */
export const sources: readonly Source[] = readdirSync(folder, { recursive: true, withFileTypes: true })
  .filter((entry) => entry.isFile())
  .map((entry) => relative(folder, join(entry.parentPath, entry.name)).replaceAll('\\', '/'))
  .sort()
  .map((path) => ({
    path,
    text: readFileSync(join(folder, path), 'utf8'),
    room: path.includes('/') ? path.slice(0, path.indexOf('/')) : '',
  }))

/** The static and dynamic imports of a file, including types. */
export function importsOf({ text }: Pick<Source, 'text'>): string[] {
  const pattern =
    /(?:^|\n)\s*(?:import|export)\s[^'"`;]*?from\s*'([^']+)'|(?:^|\n)\s*import\s*'([^']+)'|import\(\s*'([^']+)'/g
  return [...text.matchAll(pattern)].map((match) => match[1] ?? match[2] ?? match[3] ?? '')
}
