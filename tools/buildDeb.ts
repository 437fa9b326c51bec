/**
 * Builds a Debian package of the executable, with the unit and the settings of deploy/systemd: `npm run build:deb
 * [-- --target linux-x64]`.
 */
import { execFileSync } from 'node:child_process'
import { chmodSync, globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { parseArgs } from 'node:util'
import { gzipSync } from 'node:zlib'
import type { InstalledService } from '../src/commands/installedService.ts'
import { completionScript } from '../src/commands/interface/completionScripts.ts'
import { createProgram } from '../src/commands/interface/program.ts'
import { buildArtifactBinary, sharpWasm, type Target, targetOf } from './buildBinary.ts'
import { manualPage } from './manPage.ts'
import { readVersion, root, run } from './project.ts'

const architectures: Record<Target, string> = { 'linux-x64': 'amd64', 'linux-arm64': 'arm64' }
export type Compression = 'zstd' | 'none'

/** What the unit below and deploy/debian/postinst set up. The executable reads it, see src/commands/installedService.ts. */
const service: InstalledService = {
  settingsFile: '/etc/default/petstore',
  dataDir: '/var/lib/petstore',
  user: 'petstore',
}

/** Where the shells look for the completions of packages. */
const completions = {
  bash: 'usr/share/bash-completion/completions/petstore',
  zsh: 'usr/share/zsh/vendor-completions/_petstore',
  fish: 'usr/share/fish/vendor_completions.d/petstore.fish',
}

/** Replaces a line that must be there. */
function replaceLine(text: string, line: RegExp, replacement: string): string {
  const pattern = new RegExp(`^(?:${line.source})\n`, 'm')
  if (!pattern.test(text)) throw new Error(`There is no line ${line.source}.`)
  return text.replace(pattern, replacement === '' ? '' : `${replacement}\n`)
}

/** The unit of deploy/systemd for the executable. It has no compile cache. */
function unit(): string {
  let text = readFileSync(join(root, 'deploy/systemd/petstore.service'), 'utf8')
  text = replaceLine(
    text,
    /# One instance.*\n#.*/,
    `# One instance. Its settings are in ${service.settingsFile}.`,
  )
  text = replaceLine(text, /ExecStart=.*/, 'ExecStart=/usr/bin/petstore serve')
  text = replaceLine(text, /WorkingDirectory=.*/, '')
  text = replaceLine(text, /EnvironmentFile=.*/, `EnvironmentFile=${service.settingsFile}`)
  text = replaceLine(text, /# Compiled code.*\nCacheDirectory=.*\nCacheDirectoryMode=.*/, '')
  return text.replace(' XDG_CACHE_HOME=%C', '')
}

function settings(): string {
  const text = readFileSync(join(root, 'deploy/systemd/petstore.env.example'), 'utf8')
  return replaceLine(
    text,
    /# Copy to .*/,
    '# Settings of the service: see /usr/share/doc/petstore/guides/running.md.',
  )
}

const control = (version: string, target: Target, kilobytes: number): string => `Package: petstore
Version: ${version.replace('-', '~')}
Architecture: ${architectures[target]}
Maintainer: Petstore maintainers <maintainers@petstore.example>
Installed-Size: ${kilobytes}
Depends: libc6 (>= 2.28), libstdc++6, libatomic1, passwd
Section: web
Priority: optional
Description: HTTP/JSON service for animals offered for adoption
 One executable with an embedded database, a console for the browser, the API
 reference and the guides. It also runs as many instances on PostgreSQL.
`

/** Node writes no time into the header, so the same content makes the same bytes. */
const gzip = (content: string | Buffer): Buffer => gzipSync(content, { level: 9 })

type Add = (path: string, content: string | Buffer, mode?: number) => void

function addManualAndCompletions(add: Add, time: string): void {
  const version = readVersion()
  const program = createProgram(version)
  const date = new Date(Number(time) * 1_000).toISOString().slice(0, 10)
  add('usr/share/man/man1/petstore.1.gz', gzip(manualPage({ program, version, date, service })))
  for (const [shell, path] of Object.entries(completions)) add(path, completionScript(shell, program))
}

/** Writes the package. `executable` has been built for the target. */
export function buildDeb(executable: string, target: Target, output: string, compression: Compression): void {
  const folder = mkdtempSync(join(tmpdir(), 'petstore-deb-'))
  const add: Add = (path, content, mode = 0o644) => {
    const file = join(folder, path)
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, content)
    chmodSync(file, mode)
  }
  // The time of the files in the package: the same commit makes the same package.
  const time = run('git', 'log', '-1', '--format=%ct')
  try {
    const program = readFileSync(executable)
    add('usr/bin/petstore', program, 0o755)
    add('usr/lib/systemd/system/petstore.service', unit())
    add('etc/default/petstore', settings(), 0o600)
    add('usr/lib/petstore/service.json', `${JSON.stringify(service)}\n`)
    addManualAndCompletions(add, time)
    add('usr/share/doc/petstore/copyright', readFileSync(join(root, 'LICENSE')))
    // The licenses of the libraries in the WebAssembly build of sharp, such as the LGPL.
    for (const name of ['LICENSE', 'README.md'])
      add(`usr/share/doc/petstore/sharp-wasm32/${name}`, readFileSync(join(sharpWasm, name)))
    add('usr/share/doc/petstore/changelog.gz', gzip(readFileSync(join(root, 'CHANGELOG.md'))))
    for (const path of globSync('docs/guides/*.md', { cwd: root }))
      add(`usr/share/doc/petstore/${path.slice('docs/'.length)}`, readFileSync(join(root, path)))
    add('DEBIAN/control', control(readVersion(), target, Math.ceil(program.length / 1024)))
    add('DEBIAN/conffiles', '/etc/default/petstore\n')
    for (const name of ['postinst', 'prerm', 'postrm'])
      add(`DEBIAN/${name}`, readFileSync(join(root, 'deploy/debian', name)), 0o755)
    // Independent of the umask, and of the mode of a temporary folder.
    execFileSync('find', [folder, '-type', 'd', '-exec', 'chmod', '0755', '{}', '+'])
    const level = compression === 'zstd' ? ['-z9'] : []
    execFileSync(
      'dpkg-deb',
      ['--build', '--root-owner-group', `-Z${compression}`, ...level, folder, output],
      {
        env: { ...process.env, SOURCE_DATE_EPOCH: time },
      },
    )
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

if (import.meta.main) {
  const { values } = parseArgs({ options: { target: { type: 'string' } } })
  const target = targetOf(values.target)
  const executable = await buildArtifactBinary(target)
  buildDeb(executable, target, `${executable}.deb`, 'zstd')
  console.log(`${executable}.deb`)
}
