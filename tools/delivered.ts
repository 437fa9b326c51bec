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
export type Delivered = Locked & { readonly name: string; readonly path: string }

/** What the console contains. These are development dependencies, because the console is built before it is packed. */
export const consolePackages = ['preact', '@preact/signals', '@preact/signals-core', 'uplot']
const folder = 'node_modules/'

/** Every installed package, by its path in the lock file. */
export const lockedPackages = (): Record<string, Locked> => readJson('package-lock.json').packages

/** The optional ones are the builds of sharp for each platform. */
export const deliveredPackages = (): Delivered[] =>
  Object.entries(lockedPackages())
    .filter(([path]) => path.startsWith(folder))
    .map(([path, entry]) => ({
      ...entry,
      path,
      name: path.slice(path.lastIndexOf(folder) + folder.length),
    }))
    .filter(({ name, dev, link }) => consolePackages.includes(name) || !(dev || link))
