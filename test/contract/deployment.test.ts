import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { totalmem } from 'node:os'
import { describe, test } from 'node:test'
import { parseAllDocuments } from 'yaml'
import { readConfig } from '../../src/config.ts'
import { commandOf, imageStage } from '../support/dockerfile.ts'
import { permissionCommand } from '../support/permissionFlags.ts'

const root = new URL('../../', import.meta.url)
const read = (path: string) => readFileSync(new URL(path, root), 'utf8')
const pack = JSON.parse(read('package.json'))
const yamlFiles = [
  'compose.yaml',
  ...readdirSync(new URL('deploy/kubernetes/', root)).map((name) => `deploy/kubernetes/${name}`),
]

const guides = readdirSync(new URL('docs/guides/', root)).map((name) => `docs/guides/${name}`)

/** In bytes, of a Node that is started with these flags. */
const heapLimitWith = (flags: string[]): number =>
  Number(execFileSync(process.execPath, [...flags, '-p', 'v8.getHeapStatistics().heap_size_limit']))

describe('the files for deploying', () => {
  test('the image that they name has the version of the package', () => {
    const named = [...yamlFiles, 'deploy/compose.env.example', ...guides].flatMap((file) =>
      [...read(file).matchAll(/\bpetstore:(\d[\w.-]*)/g)].map((match) => match[1]),
    )
    assert.ok(named.length > 0)
    assert.deepEqual([...new Set(named)], [pack.version])
  })

  test('no start command fixes the size of the heap, so that Node derives it from the memory that there is', () => {
    const image = commandOf(imageStage(), 'ENTRYPOINT')
    const unit = String(/^ExecStart=(.*)$/m.exec(read('deploy/systemd/petstore.service'))?.[1]).split(' ')
    const commands = [image, unit, pack.scripts.start.split(' ')]
    const semiSpaceFlag = '--max-semi-space-size=8'
    const memory = Math.min(totalmem(), process.constrainedMemory() || Number.POSITIVE_INFINITY)
    for (const command of commands) {
      const flags = command.filter((word: string) => word.startsWith('--'))
      assert.ok(flags.includes(semiSpaceFlag))
      const limit = heapLimitWith(flags)
      // The nursery is a part of the limit.
      assert.equal(limit, heapLimitWith([semiSpaceFlag]), command.join(' '))
      assert.ok(limit < memory, `A heap of ${limit} bytes in a memory of ${memory}`)
    }
    for (const file of [...yamlFiles, 'Dockerfile', 'deploy/systemd/petstore.env.example'])
      assert.doesNotMatch(read(file), /old-space|heap-size|NODE_OPTIONS/, file)
  })

  for (const file of yamlFiles) {
    test(`${file} can be read`, () => {
      for (const document of parseAllDocuments(read(file), { merge: true }))
        assert.deepEqual(document.errors, [])
    })
  }

  test("the commands with Node's permission model have the same options, besides those of the image", () => {
    const image = commandOf(imageStage(), 'ENTRYPOINT')
    const added = permissionCommand().filter((word) => word.startsWith('--') && !image.includes(word))
    assert.equal(added[0], '--permission')
    const inImage = added.map((word) => word.replace('/opt/petstore/', '/app/'))
    const expected = [...image.slice(0, -1), ...inImage, ...image.slice(-1)]
    const { services } = parseAllDocuments(read('compose.yaml'), { merge: true })[0]?.toJS() ?? {}
    assert.deepEqual(services['petstore-1'].entrypoint, expected)
    assert.deepEqual([services['petstore-1'].command, services.migrate.command], [['serve'], ['migrate']])
    const [deployment] = parseAllDocuments(read('deploy/kubernetes/petstore.yaml'))
    const [container] = deployment?.toJS().spec.template.spec.containers ?? []
    assert.deepEqual([container.command, container.args], [expected, ['serve']])
  })

  test('a server that ends with status 1 is started again', () => {
    const unit = read('deploy/systemd/petstore.service')
    assert.match(unit, /^Restart=on-failure$/m)
    assert.doesNotMatch(unit, /^RestartPreventExitStatus=.*\b1\b/m)
    const [compose] = parseAllDocuments(read('compose.yaml'), { merge: true })
    for (const [name, service] of Object.entries<{ restart?: string }>(compose?.toJS().services))
      if (/^petstore-\d/.test(name)) assert.equal(service.restart, 'unless-stopped', name)
    const deployments = parseAllDocuments(read('deploy/kubernetes/petstore.yaml'))
      .map((document) => document.toJS())
      .filter(({ kind }) => kind === 'Deployment')
    assert.ok(deployments.length > 0)
    // "Always" is the default of a deployment.
    for (const { spec } of deployments)
      assert.ok([undefined, 'Always'].includes(spec.template.spec.restartPolicy))
  })

  test('no core dump is written, which would contain secrets', () => {
    assert.match(read('deploy/systemd/petstore.service'), /^LimitCORE=0$/m)
    const [compose] = parseAllDocuments(read('compose.yaml'), { merge: true }).map((each) => each.toJS())
    for (const name of ['petstore-1', 'petstore-2', 'petstore-3', 'migrate'])
      assert.deepEqual(compose.services[name].ulimits, { core: 0 }, name)
    assert.match(read('docs/guides/one-machine.md'), /^docker run (?:.*\\\n)*.* --ulimit core=0 /m)
  })

  test('the service runs without rights: not as root, and without new privileges and capabilities', () => {
    const unit = read('deploy/systemd/petstore.service')
    for (const line of [
      'User=petstore',
      'NoNewPrivileges=yes',
      'CapabilityBoundingSet=',
      'ProtectSystem=strict',
    ])
      assert.match(unit, new RegExp(`^${line}$`, 'm'))
    const [compose] = parseAllDocuments(read('compose.yaml'), { merge: true }).map((each) => each.toJS())
    for (const name of ['petstore-1', 'petstore-2', 'petstore-3', 'migrate']) {
      const { read_only: isReadOnly, cap_drop, security_opt } = compose.services[name]
      assert.deepEqual(
        [isReadOnly, cap_drop, security_opt],
        [true, ['ALL'], ['no-new-privileges:true']],
        name,
      )
    }
    const pods = ['petstore', 'migrate']
      .flatMap((name) => parseAllDocuments(read(`deploy/kubernetes/${name}.yaml`)).map((each) => each.toJS()))
      .flatMap(({ spec }) => spec?.template?.spec ?? [])
    assert.equal(pods.length, 2)
    for (const { securityContext, containers } of pods) {
      assert.equal(securityContext.runAsNonRoot, true)
      for (const { securityContext: own } of containers)
        assert.deepEqual(own, {
          allowPrivilegeEscalation: false,
          readOnlyRootFilesystem: true,
          capabilities: { drop: ['ALL'] },
        })
    }
  })

  test('every setting that they name exists', () => {
    const files = [
      ...yamlFiles,
      'Dockerfile',
      'deploy/compose.env.example',
      'deploy/systemd/petstore.env.example',
    ]
    const known = new Set(read('src/config.ts').match(/\b(?:PETSTORE_[A-Z_]+|DATABASE_URL)\b/g))
    // What Compose itself puts in, not what the service reads.
    for (const name of ['PETSTORE_IMAGE', 'PETSTORE_LISTEN']) known.add(name)
    for (const file of files)
      for (const name of read(file).match(/\bPETSTORE_[A-Z_]+\b/g) ?? [])
        assert.ok(known.has(name), `${file} names ${name}, which is not a setting.`)
  })

  test('the settings of compose.yaml are taken by the service', () => {
    const [document] = parseAllDocuments(read('compose.yaml'), { merge: true })
    const environment = document?.toJS().services['petstore-1'].environment ?? {}
    const filled = Object.fromEntries(
      Object.entries<string>(environment).map(([name, value]) => [
        name,
        value
          .replace(/\$\{\w+:-([^}]*)\}/g, '$1')
          .replace(/\$\{\w+:\?[^}]*\}/g, 'a-secret-of-at-least-thirty-two-characters'),
      ]),
    )
    const config = readConfig(filled)
    assert.equal(config.isAutoMigrate, false)
    assert.ok(config.databaseUrl?.includes('@postgres:5432/petstore'))
  })
})
