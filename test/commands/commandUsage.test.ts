import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { promisify } from 'node:util'
import { parse } from 'yaml'
import { createProgram } from '../../src/commands/interface/program.ts'
import { commandReference } from '../../src/commands/interface/reference.ts'
import { assertCommandFails, cliOn } from '../support/commands.ts'
import { runInProcess, runPetstore } from '../support/process.ts'
import { folderFor, serverFor } from '../support/servers.ts'

const keyCommands = ['create', 'list', 'update', 'revoke', 'rotate', 'unban']
const commands = [
  ...['serve', 'migrate', 'keys', 'seed', 'import', 'export', 'backup', 'restore', 'openapi'],
  ...['doctor', 'completion'],
]

describe('help', { concurrency: 2 }, () => {
  test('lists every command', async () => {
    for (const word of ['--help', '-h', 'help']) {
      const { code, stdout } = await runPetstore([word])
      assert.equal(code, 0)
      for (const command of commands) assert.match(stdout, new RegExp(`^ {2}${command} `, 'm'))
    }
  })

  for (const command of [...commands, ...keyCommands.map((name) => `keys ${name}`)]) {
    test(`of ${command} shows usage and examples, and does nothing else`, async (t) => {
      const dataDir = join(folderFor(t), 'data')
      const cli = cliOn({ PETSTORE_DATA_DIR: dataDir })
      const help = await cli.ok([...command.split(' '), '--help'])
      assert.ok(help.startsWith(`Usage: petstore ${command} `))
      assert.match(help, /^Examples:\n {2}\S.*\n {6}\S/m)
      for (const line of help.split('\n').filter((each) => !/^ {2}\S*(?:petstore|PORT=|source)/.test(each)))
        assert.ok(line.length <= 80, line)
      assert.equal(await cli.ok(['help', ...command.split(' ')]), help)
      assert.throws(() => statSync(dataDir), { code: 'ENOENT' })
    })
  }

  test('has colours only on a terminal, or if they are forced', async () => {
    const help = async (env: Record<string, string>) => (await runInProcess(['--help'], env)).stdout
    assert.ok(!(await help({})).includes('\x1b['))
    assert.ok((await help({ FORCE_COLOR: '1' })).includes('\x1b['))
    assert.ok(!(await help({ FORCE_COLOR: '1', NO_COLOR: '1' })).includes('\x1b['))
  })

  test('version', async () => {
    const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'))
    for (const word of ['--version', '-V']) assert.equal((await runPetstore([word])).stdout, `${version}\n`)
  })
})

describe('wrong usage exits with status 2 and prints the problem', { concurrency: 2 }, () => {
  const scenarios: [args: string[], message: RegExp][] = [
    [[], /^Usage: petstore [\s\S]*Choose a command: serve, /],
    [['adopt'], /^Unknown command "adopt"\.\nRun "petstore --help"/],
    [['completion', 'tcsh'], /Allowed choices are bash, zsh, fish\.\nRun "petstore completion --help"/],
    [['constructor'], /^Unknown command "constructor"\./],
    [['imprt'], /^Unknown command "imprt"\. Did you mean import\?\n/],
    [['help', 'adopt'], /^There is no command "petstore adopt"/],
    [['keys', 'create', '--nam', 'x'], /^Unknown option "--nam"\. Did you mean --name\?\n/],
    [['serve', '--port', '80'], /--port[\s\S]*petstore serve/],
    [['serve', 'now'], /Unexpected argument "now"/],
    [
      ['keys'],
      /petstore keys create[\s\S]*Choose a command: create, list, update, revoke, rotate, unban\.\n/,
    ],
    [['keys', 'borrow'], /^Unknown command "borrow"\.\nRun "petstore keys --help"/],
    [['keys', 'create'], /^--name is required\.$/m],
    [
      ['keys', 'create', '--name', ' '],
      /^--name must be 1 to 100 characters with at least one visible character\.$/m,
    ],
    [
      ['keys', 'create', '--name', 'x', '--plan', 'gold'],
      /^--plan must be one of free, pro, business, enterprise\.$/m,
    ],
    [
      ['keys', 'create', '--plan', 'gold', '--origin', 'nowhere'],
      /^--name is required\.\n--plan must be one of [^\n]*\.\n--origin must be an origin [^\n]*\.\n$/,
    ],
    [
      ['keys', 'create', '--name', 'x', '--per-minute', '5'],
      /^--per-minute, --per-day and --streams are fixed by the plan free; only enterprise has its own\.$/m,
    ],
    [
      ['keys', 'create', '--name', 'x', '--plan', 'enterprise', '--per-minute', '0'],
      /^--per-minute must be a whole number from 1 to 1000000000, but is "0"\.$/m,
    ],
    [
      ['keys', 'create', '--name', 'x', '--plan', 'enterprise', '--per-day', '1000000001'],
      /^--per-day must be a whole number from 1 to 1000000000, but is "1000000001"\.$/m,
    ],
    [
      ['keys', 'create', '--name', 'x', '--plan', 'enterprise', '--streams', '5001'],
      /^--streams must be a whole number from 1 to 5000, but is "5001"\.$/m,
    ],
    [
      ['keys', 'create', '--name', 'x', '--scope', 'pets:read', '--scope', 'pets:eat'],
      /^--scope must be one of pets:read, pets:write, [^\n]*, keys:manage\.$/m,
    ],
    [
      ['keys', 'create', '--name', 'x', '--origin', 'https://a.example', '--scope', 'pets:write'],
      /^The --scope options of a key with origins \(a publishable key\) must all end in ":read"\.$/m,
    ],
    [
      ['keys', 'create', '--name', 'x', '--origin', 'example.com'],
      /^--origin must be an origin such as https:\/\/example\.com\.$/m,
    ],
    [
      ['keys', 'create', '--name', 'x', '--origin', 'https://*.example'],
      /^--origin must be one host, without "\*": list each origin\.$/m,
    ],
    [
      ['keys', 'update', '1', '--origin', 'https://a.example', '--origin', 'https://*.example'],
      /^--origin must be one host, without "\*": list each origin\.$/m,
    ],
    [
      ['keys', 'create', '--name', 'x', ...Array(21).fill('--origin=https://a.example')],
      /^The --origin options must be at most 20\.$/m,
    ],
    [
      ['keys', 'create', '--name', 'x', '--expires-at', 'tomorrow'],
      /^--expires-at must be a time such as 2027-01-31T12:00:00Z or 2027-01-31T13:00:00\+01:00\.$/m,
    ],
    [
      ['keys', 'create', '--name', 'x', '--expires-at', '2099-02-30T00:00:00Z'],
      /^--expires-at must be a date and time that exist\.$/m,
    ],
    [
      ['keys', 'create', '--name', 'x', '--expires-at', '2020-01-01T00:00:00Z'],
      /^--expires-at must lie in the future\.$/m,
    ],
    [['keys', 'create', '7', '--name', 'x'], /^Unexpected argument "7"\./],
    [['keys', 'list', '--plan', 'pro'], /^Unknown option "--plan"\./],
    [['keys', 'revoke'], /^Missing required argument "id"\./],
    [['keys', 'revoke', 'mine'], /^"mine" is not the id of a key\. "petstore keys list" shows the ids\.$/m],
    [['keys', 'revoke', '0'], /"0" is not the id of a key/],
    [['keys', 'rotate', '1.5'], /"1\.5" is not the id of a key/],
    [['keys', 'revoke', '1', '2'], /Unexpected argument "2"/],
    [['keys', 'rotate', '1', '--overlap-seconds', 'long'], /--overlap-seconds must be a whole number/],
    [['seed', '--count', '0'], /--count must be a whole number/],
    [['seed', '--count', '-1'], /^--count must be a whole number from 1 to [^\n]*, but is "-1"\.$/m],
    [['seed', '--count'], /--count/],
    [['seed', '10'], /Unexpected argument "10"/],
    [['import', 'a', 'b'], /Unexpected argument "b"/],
    [['export', 'file'], /Unexpected argument "file"/],
    [['backup'], /^Missing required argument "file"\./],
    [['restore'], /^Missing required argument "file"\./],
    [['openapi', '--xml'], /--xml[\s\S]*petstore openapi/],
    [['openapi', '--yaml', '--json'], /--yaml[^\n]*--json/],
    [['completion', 'tcsh'], /bash, zsh, fish/],
    [['import', '--format', 'xml'], /csv, ndjson/],
  ]
  for (const [args, message] of scenarios) {
    test(['petstore', ...args].join(' '), async (t) => {
      const cli = cliOn({ PETSTORE_DATA_DIR: folderFor(t) })
      if (args[0] === 'keys') await cli.run(['migrate'])
      assertCommandFails(await cli.run(args), 2, message)
    })
  }
})

describe('an impossible setting ends the start with a reason', { concurrency: 2 }, () => {
  const scenarios: [env: Record<string, string>, message: RegExp][] = [
    [{ PETSTORE_DATA_DIR: '/proc/none/of/these' }, /\/proc\/none/],
  ]
  for (const [env, message] of scenarios) {
    test(Object.entries(env).join(), async (t) => {
      const settings = { PORT: '0', PETSTORE_DATA_DIR: folderFor(t), PETSTORE_LOG_LEVEL: 'silent', ...env }
      assertCommandFails(await runInProcess(['serve'], settings), 1, message)
    })
  }
})

test('an unknown HOST is reported together with all other wrong settings, with status 2', async (t) => {
  const unknownHost = { PETSTORE_DATA_DIR: folderFor(t), HOST: 'no-such-host.invalid' }
  const hostProblem = 'HOST must be an IP address or a known host name, but is "no-such-host\\.invalid"\\.'
  assertCommandFails(
    await runInProcess(['serve'], { ...unknownHost, PORT: '0' }),
    2,
    new RegExp(`^Invalid configuration:\\n {2}- ${hostProblem}\\n$`),
  )
  const wrong = { ...unknownHost, PORT: 'eighty', PETSTORE_ENV: 'test' }
  const { code, stdout, stderr } = await runInProcess(['serve'], wrong)
  assert.deepEqual([code, stdout], [2, ''])
  assert.match(stderr, new RegExp(hostProblem))
  assert.match(stderr, /PORT must be/)
  assert.match(stderr, /PETSTORE_ENV must be/)
  assert.deepEqual(readdirSync(unknownHost.PETSTORE_DATA_DIR), [])
})

test('the guide to the commands is current', () => {
  const guide = readFileSync(new URL('../../docs/guides/commands.md', import.meta.url), 'utf8')
  assert.equal(guide, commandReference(createProgram('')), 'run "npm run docs:commands"')
})

describe('completion', { concurrency: 2 }, () => {
  const complete = async (script: string, words: string[]) => {
    const { stdout } = await promisify(execFile)('bash', [
      '-c',
      `eval "$0"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _petstore; echo "\${COMPREPLY[@]}"`,
      ...[script, 'petstore', ...words],
    ])
    return stdout.trim().split(' ')
  }

  test('completes commands, subcommands, options and choices in bash', async () => {
    const { stdout: script } = await runPetstore(['completion', 'bash'])
    assert.deepEqual(await complete(script, ['imp']), ['import'])
    assert.deepEqual(await complete(script, ['keys', 're']), ['revoke'])
    assert.deepEqual(await complete(script, ['keys', 'create', '--n']), ['--name'])
    assert.deepEqual(await complete(script, ['completion', '']), ['bash', 'zsh', 'fish', '--help'])
    assert.ok((await complete(script, [''])).includes('doctor'))
  })

  test('has scripts for zsh and fish', async () => {
    const { stdout: zsh } = await runPetstore(['completion', 'zsh'])
    assert.match(zsh, /^#compdef petstore\n/)
    // As a file in $fpath, it is called instead of the function of bash, which zsh cannot run.
    assert.doesNotMatch(zsh, /COMP_|compgen/)
    assert.match(zsh, /^ +" keys revoke"\) candidates=\(--json --help\) ;;$/m)
    const { stdout: fish } = await runPetstore(['completion', 'fish'])
    assert.match(
      fish,
      /^complete -c petstore -n 'not __fish_seen_subcommand_from serve .*' -f -a import -d '.*'$/m,
    )
    assert.match(fish, /^complete -c petstore -n '__fish_seen_subcommand_from seed' -l count -r -d '.*'$/m)
  })
})

describe('openapi', () => {
  test('prints what the server serves, as JSON, as YAML and to a file', async (t) => {
    const server = await serverFor(t)
    const folder = folderFor(t)
    const cli = cliOn(server.databaseEnv)
    const { json: served } = await server.request('GET', '/v1/openapi.json')
    assert.equal(served.openapi.slice(0, 3), '3.1')
    assert.deepEqual(JSON.parse(await cli.ok(['openapi'])), served)
    assert.deepEqual(await cli.json(['openapi']), served)
    assert.deepEqual(parse(await cli.ok(['openapi', '--yaml'])), served)
    assert.equal(await cli.ok(['openapi', '--output', join(folder, 'openapi.json')]), '')
    assert.deepEqual(JSON.parse(readFileSync(join(folder, 'openapi.json'), 'utf8')), served)
  })

  test('neither needs nor creates a database', async (t) => {
    const dataDir = join(folderFor(t), 'data')
    await cliOn({ PETSTORE_DATA_DIR: dataDir }).ok(['openapi'])
    assert.throws(() => statSync(dataDir), { code: 'ENOENT' })
  })
})
