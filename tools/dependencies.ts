/**
 * Checks the licenses of all packages that are delivered or used, and measures the production dependencies:
 * `npx node tools/dependencies.ts`. See docs/dependencies.md.
 */
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { deliveredPackages, lockedPackages, type Named, namedPackages } from './delivered.ts'
import { readJson, root } from './project.ts'

/** They ask for no more than their text and a notice. */
const allowed = ['MIT', 'ISC', '0BSD', 'BSD-2-Clause', 'BSD-3-Clause', 'Apache-2.0', 'Unlicense', 'CC0-1.0']
/** libvips is a file of its own, which anyone can replace. See docs/decisions/0053-photos-in-the-executable.md. */
const libvips = /^@img\/sharp-(?:libvips-[\w-]+|wasm32|win32-\w+)$/
const allowedForLibvips = [...allowed, 'LGPL-3.0-or-later']
/** For what builds, tests and measures, and is not delivered. */
const allowedForTools = [
  ...allowedForLibvips,
  ...['MPL-2.0', 'BlueOak-1.0.0', 'CC-BY-4.0', 'Python-2.0', 'Zlib'],
]
/** Each package that a command of this repository installs is in one of them. */
export const lockFiles = ['', 'bench/', 'mutation/', 'test/generated-clients/'].map(
  (folder) => `${folder}package-lock.json`,
)
/** The license is in a file and in an old form of package.json, which lock files do not have. */
const licensesInFiles: Readonly<Record<string, string>> = { 'reserved@0.1.2': 'MIT' }

/** An SPDX expression: one of the licenses that "OR" separates is enough, all of those that "AND" separates are needed. */
function isAllowed(expression: string, licenses: readonly string[]): boolean {
  const options = expression.replaceAll(/[()]/g, '').split(' OR ')
  return options.some((option) => option.split(' AND ').every((license) => licenses.includes(license)))
}

type Licensed = Pick<Named, 'name' | 'version' | 'license'>

const problemsOf = (packages: readonly Licensed[], allowedFor: (name: string) => readonly string[]) =>
  packages
    .filter(({ name, license = '' }) => !isAllowed(license, allowedFor(name)))
    .map(({ name, version, license }) => `${name}@${version}: ${license ?? 'no license'}`)

/** Of what is delivered: the packages whose license is missing or not allowed. */
export const licenseProblems = (packages: readonly Licensed[]): string[] =>
  problemsOf(packages, (name) => (libvips.test(name) ? allowedForLibvips : allowed))

/** The same of everything that a lock file installs. */
export const toolLicenseProblems = (lockFile: string): string[] =>
  problemsOf(
    namedPackages(lockFile).map((found) => {
      const license = found.license ?? licensesInFiles[`${found.name}@${found.version}`]
      return { ...found, ...(license !== undefined && { license }) }
    }),
    () => allowedForTools,
  )

/** With the license in its own files, if the package is installed: those of other platforms are not. */
export function installedLicenses(): Licensed[] {
  return deliveredPackages().map((found) => {
    const file = join(root, found.path, 'package.json')
    return existsSync(file) ? { ...found, license: JSON.parse(readFileSync(file, 'utf8')).license } : found
  })
}

/** The paths of a package and of all that it needs, as far as they are installed. */
function withDependencies(path: string): Set<string> {
  const found = new Set<string>()
  const packages = lockedPackages()
  const visit = (at: string) => {
    if (found.has(at) || !existsSync(join(root, at))) return
    found.add(at)
    const { dependencies, optionalDependencies } = packages[at] ?? {}
    for (const name of Object.keys({ ...dependencies, ...optionalDependencies })) {
      const nested = `${at}/node_modules/${name}`
      visit(nested in packages ? nested : `node_modules/${name}`)
    }
  }
  visit(path)
  return found
}

const bytesIn = (folder: string): number =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && !entry.parentPath.slice(folder.length).includes('node_modules'))
    .reduce((sum, { parentPath, name }) => sum + statSync(join(parentPath, name)).size, 0)

const describe = (paths: Iterable<string>): string => {
  const sizes = [...paths].map((path) => bytesIn(join(root, path)))
  const bytes = sizes.reduce((sum, size) => sum + size, 0)
  return `${sizes.length} ${sizes.length === 1 ? 'package' : 'packages'}, ${(bytes / 1e6).toFixed(1)} MB`
}

if (import.meta.main) {
  const all = new Set<string>()
  for (const name of Object.keys(readJson('package.json').dependencies)) {
    const paths = withDependencies(`node_modules/${name}`)
    for (const path of paths) all.add(path)
    console.log(`${name}: ${describe(paths)}`)
  }
  console.log(`all: ${describe(all)}`)
  const problems = [...licenseProblems(installedLicenses()), ...lockFiles.flatMap(toolLicenseProblems)]
  for (const problem of problems) console.log(`License not allowed: ${problem}`)
  if (problems.length === 0)
    console.log('All licenses are allowed: of what is delivered and of all lock files.')
  process.exitCode = problems.length === 0 ? 0 : 1
}
