import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, type TestContext, test } from 'node:test'
import { gunzipSync } from 'node:zlib'
import type { Command } from 'commander'
import { createProgram, exitCodes } from '../../src/commands/interface/program.ts'
import { buildBinary, targetOf } from '../../tools/buildBinary.ts'
import { buildDeb } from '../../tools/buildDeb.ts'
import { DebianRoot, otherUser, serviceUser } from '../support/debianRoot.ts'
import { checkUpload } from '../support/installation.ts'
import { folderFor, SuiteCleanup, serverFor } from '../support/servers.ts'

const canBuild = process.platform === 'linux' && existsSync('/usr/bin/dpkg-deb')
const cleanup = new SuiteCleanup()
let deb: string
let unpacked: string
before(async () => {
  if (!canBuild) return
  const folder = folderFor(cleanup)
  await buildBinary(targetOf(), join(folder, 'petstore'))
  deb = join(folder, 'petstore.deb')
  buildDeb(join(folder, 'petstore'), targetOf(), deb, 'none')
  unpacked = folderFor(cleanup)
  execFileSync('dpkg-deb', ['-x', deb, unpacked])
})
after(() => cleanup.end())

const skip = !canBuild && 'Debian packages are built on Debian only.'

describe('the manual page', { skip }, () => {
  const read = () => gunzipSync(readFileSync(join(unpacked, 'usr/share/man/man1/petstore.1.gz'))).toString()

  test('has every command, option and exit code', () => {
    const text = read().replaceAll('\\-', '-')
    const program = createProgram('')
    const namesOf = (command: Command): string[] => [
      ...command.commands.flatMap((each) => [each.name(), ...namesOf(each)]),
      ...command.options.map(({ flags }) => flags),
    ]
    assert.ok(namesOf(program).length > 40)
    for (const name of namesOf(program)) if (name !== '-V, --version') assert.ok(text.includes(name), name)
    for (const [code] of exitCodes) assert.ok(text.includes(`\\fB${code}\\fR`), String(code))
  })

  const isLintRequired = process.env.PETSTORE_TEST_REQUIRE_MANDOC === 'true'
  const lintSkip = !isLintRequired && !existsSync('/usr/bin/mandoc') && 'mandoc is not installed.'
  test('is correct', { skip: lintSkip }, () => {
    const { status, stdout } = spawnSync('mandoc', ['-Tlint', '-Wwarning'], {
      input: read(),
      encoding: 'utf8',
    })
    assert.deepEqual([status, stdout], [0, ''])
  })
})

test('the package has completions where the shells look for them', { skip }, () => {
  const script = join(unpacked, 'usr/share/bash-completion/completions/petstore')
  const complete = 'source "$0"; COMP_WORDS=(petstore keys re); COMP_CWORD=2; _petstore; echo "$COMPREPLY"'
  assert.equal(execFileSync('bash', ['-c', complete, script], { encoding: 'utf8' }), 'revoke\n')
  const read = (path: string) => readFileSync(join(unpacked, path), 'utf8')
  assert.match(read('usr/share/zsh/vendor-completions/_petstore'), /^#compdef petstore\n/)
  assert.match(read('usr/share/fish/vendor_completions.d/petstore.fish'), /^complete -c petstore /)
})

test('the commands use the user, the settings and the data folder of the unit', { skip }, () => {
  const read = (path: string) => readFileSync(join(unpacked, path), 'utf8')
  const { user, settingsFile, dataDir } = JSON.parse(read('usr/lib/petstore/service.json'))
  const unit = read('usr/lib/systemd/system/petstore.service')
  assert.match(unit, new RegExp(`^User=${user}$`, 'm'))
  assert.match(unit, new RegExp(`^EnvironmentFile=${settingsFile}$`, 'm'))
  assert.match(unit, /^Environment=.*\bPETSTORE_DATA_DIR=%S\/petstore\b/m)
  assert.equal(dataDir, '/var/lib/petstore')
})

const rootSkip = skip || (process.getuid?.() !== 0 && 'Only root can change the root folder.')
describe('on a machine with the package', { skip: rootSkip }, () => {
  const machineFor = (t: TestContext, settings = ''): DebianRoot => {
    const machine = new DebianRoot(folderFor(t), deb)
    machine.write('/etc/default/petstore', [settings])
    return machine
  }
  const ownersIn = (machine: DebianRoot, folder: string) =>
    new Set(readdirSync(machine.path(folder)).map((name) => statSync(machine.path(join(folder, name))).uid))

  test('a command of root uses the settings of the service, and leaves files that the service can write', (t) => {
    const machine = machineFor(t, '# Settings\nPETSTORE_ENV="staging" \n')
    const created = machine.run(0, ['migrate'])
    assert.equal(created.code, 0, created.stderr)
    const { code, stdout, stderr } = machine.run(0, ['keys', 'create', '--name', 'Web site'])
    assert.equal(code, 0, stderr)
    assert.match(stdout, /\bps_test_/)
    assert.equal(machine.run(0, ['backup', '/var/lib/petstore/monday.db']).code, 0)
    assert.ok(existsSync(machine.path('/var/lib/petstore/monday.db')))
    assert.deepEqual(ownersIn(machine, '/var/lib/petstore'), new Set([serviceUser.id]))
    assert.equal(machine.run(0, ['doctor'], { PORT: '0' }).code, 0)
  })

  test('a file that the user of the service cannot write is an error that names the user', (t) => {
    const machine = machineFor(t)
    machine.run(0, ['migrate'])
    const { code, stderr } = machine.run(0, ['backup', '/root/monday.db'])
    assert.equal(code, 1)
    assert.match(
      stderr,
      /^This command ran as the user petstore, with the settings in \/etc\/default\/petstore\.$/m,
    )
    assert.deepEqual(readdirSync(machine.path('/root')), [])
  })

  test('variables of the caller take precedence over the settings', (t) => {
    const url = 'postgres://petstore:secret@127.0.0.1:1/petstore'
    const machine = machineFor(t, `DATABASE_URL=${url}?a=1&b=2\n`)
    const remote = machine.run(0, ['keys', 'list'])
    assert.equal(remote.code, 1)
    assert.match(remote.stderr, /127\.0\.0\.1:1/)
    const embedded = { PETSTORE_DATA_DIR: '/var/lib/petstore' }
    assert.equal(machine.run(0, ['migrate'], embedded).code, 0)
    assert.equal(machine.run(0, ['keys', 'list'], { DATABASE_URL: '' }).code, 0)
    assert.deepEqual(ownersIn(machine, '/var/lib/petstore'), new Set([serviceUser.id]))
  })

  test('a caller with another data folder keeps the user, and does not use the settings', (t) => {
    const machine = machineFor(t, 'PETSTORE_ENV=staging\n')
    for (const [uid, folder] of [
      [0, '/root/data'],
      [otherUser.id, '/home/ada/data'],
    ] as const) {
      const env = { PETSTORE_DATA_DIR: folder }
      const { code, stderr } = machine.run(uid, ['seed', '--count', '1'], env)
      assert.equal(code, 0, stderr)
      assert.deepEqual(ownersIn(machine, folder), new Set([uid]))
      assert.match(machine.run(uid, ['keys', 'create', '--name', 'x'], env).stdout, /\bps_live_/)
    }
    assert.deepEqual(readdirSync(machine.path('/var/lib/petstore')), [])
  })

  test('another user learns what to run, and nothing is created', (t) => {
    const machine = machineFor(t)
    for (const args of [['keys', 'list'], ['serve'], ['seed']])
      for (const uid of [otherUser.id, serviceUser.id]) {
        const { code, stderr } = machine.run(uid, args)
        assert.equal(code, 2)
        assert.match(stderr, /\/etc\/default\/petstore.* Run the command as root: "sudo petstore \.\.\."\./)
      }
    assert.deepEqual(readdirSync(machine.path('/var/lib/petstore')), [])
    for (const args of [['--version'], ['help'], ['keys', '--help'], ['openapi'], ['completion', 'bash']])
      assert.equal(machine.run(otherUser.id, args).code, 0, args.join(' '))
  })

  test('without the file of the settings, a command says what is missing, and nothing is created', (t) => {
    const machine = machineFor(t)
    rmSync(machine.path('/etc/default/petstore'))
    for (const uid of [0, otherUser.id]) {
      const { code, stderr } = machine.run(uid, ['migrate'])
      assert.equal(code, 2, stderr)
      assert.match(
        stderr,
        /^The settings of the service are missing: there is no \/etc\/default\/petstore\. Create/,
      )
    }
    assert.deepEqual(readdirSync(machine.path('/var/lib/petstore')), [])
    const env = { PETSTORE_DATA_DIR: '/var/lib/petstore' }
    assert.equal(machine.run(0, ['migrate'], env).code, 0)
    assert.deepEqual(ownersIn(machine, '/var/lib/petstore'), new Set([serviceUser.id]))
    const other = { PETSTORE_DATA_DIR: '/home/ada/data' }
    assert.equal(machine.run(otherUser.id, ['migrate'], other).code, 0)
  })

  test('the unit, and a command with its data folder, run as the user of the service', (t) => {
    const machine = machineFor(t)
    const env = { PETSTORE_DATA_DIR: '/var/lib/petstore' }
    const { code, stderr } = machine.run(serviceUser.id, ['migrate'], env)
    assert.equal(code, 0, stderr)
    assert.deepEqual(ownersIn(machine, '/var/lib/petstore'), new Set([serviceUser.id]))
  })

  test('the service accepts photos', async (t) => {
    const program = machineFor(t).script(serviceUser.id)
    const server = await serverFor(t, { PETSTORE_DATA_DIR: '/var/lib/petstore' }, { program })
    const { json } = await server.request('POST', '/v1/pets', {
      key: server.operatorKey,
      body: { name: 'Milo', categoryId: 1 },
    })
    await checkUpload(server, json.id)
  })
})
