/** The packages that are delivered with the program: what a release lists, and whose licenses are checked. */
import { readJson } from './project.ts'

type Locked = {
  version: string
  license?: string
  dev?: boolean
  link?: boolean
  dependencies?: Record<string, string>
  optionalDependencies?: Record<string, string>
}
export type Named = Locked & { readonly name: string; readonly path: string }

/** What the console contains. These are development dependencies, because the console is built before it is packed. */
export const consolePackages = ['preact', '@preact/signals', '@preact/signals-core', 'uplot']
const folder = 'node_modules/'

/** Every installed package, by its path in the lock file. */
export const lockedPackages = (file = 'package-lock.json'): Record<string, Locked> => readJson(file).packages

/** Every package that a lock file installs. */
export const namedPackages = (file: string): Named[] =>
  Object.entries(lockedPackages(file))
    .filter(([path, { link }]) => path.startsWith(folder) && !link)
    .map(([path, entry]) => ({
      ...entry,
      path,
      name: path.slice(path.lastIndexOf(folder) + folder.length),
    }))

/** The optional ones are the builds of sharp for each platform. */
export const deliveredPackages = (): Named[] =>
  namedPackages('package-lock.json').filter(({ name, dev }) => consolePackages.includes(name) || !dev)
