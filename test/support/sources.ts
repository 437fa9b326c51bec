import { readdirSync, readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'

export type Source = {
  /** Relative to the top folder, with slashes. */
  path: string
  text: string
  /** The first folder of the path; empty for a file at the top. */
  folder: string
}

/** Every file of the service as text, for rules about the source. */
export const sources = sourcesIn('src')
export const benchSources = sourcesIn('bench')

function sourcesIn(name: string): readonly Source[] {
  const top = fileURLToPath(new URL(`../../${name}/`, import.meta.url))
  return readdirSync(top, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && /\.[jt]s$/.test(entry.name))
    .map((entry) => relative(top, join(entry.parentPath, entry.name)).replaceAll('\\', '/'))
    .filter((path) => !/(?:^|\/)(?:node_modules|\.data)\//.test(path))
    .sort()
    .map((path) => ({
      path,
      text: readFileSync(join(top, path), 'utf8'),
      folder: path.includes('/') ? path.slice(0, path.indexOf('/')) : '',
    }))
}

/** What a file imports, statically or dynamically, types included. */
export function importsOf({ text }: Pick<Source, 'text'>): string[] {
  const pattern =
    /(?:^|\n)\s*(?:import|export)\s[^'"`;]*?from\s*'([^']+)'|(?:^|\n)\s*import\s*'([^']+)'|import\(\s*'([^']+)'/g
  return [...text.matchAll(pattern)].map((match) => match[1] ?? match[2] ?? match[3] ?? '')
}
