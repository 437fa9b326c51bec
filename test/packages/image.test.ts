import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { chmodSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { commandOf, imageStage, readDockerfile, root, textsOf, variablesOf } from '../support/dockerfile.ts'
import { buildImage } from '../support/imageBuild.ts'
import { useInstallation } from '../support/installation.ts'
import { folderFor, SuiteCleanup, serverFor, stopped } from '../support/servers.ts'

const stage = imageStage()
const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
/** Those of the image, except where it listens and stores data. */
const { HOST, PORT, PETSTORE_DATA_DIR, ...variables } = variablesOf(stage, 'ENV')

test('the container image has the Node that the tests run on, the version of the package, and a user without rights', () => {
  const images = new Set(readDockerfile().map((each) => each.image))
  assert.deepEqual(images, new Set([`node:${process.versions.node}-bookworm-slim`]))
  assert.equal(variablesOf(stage, 'LABEL')['org.opencontainers.image.version'], version)
  assert.deepEqual(textsOf(stage, 'USER'), ['10001:10001'])
  assert.deepEqual([HOST, PORT, PETSTORE_DATA_DIR], ['0.0.0.0', '8080', '/data'])
})

/** There is no container engine here, so the commands run with the Node and the libraries of this machine. */
describe('the container image', () => {
  const cleanup = new SuiteCleanup()
  let image: ReturnType<typeof buildImage>
  let program: string
  before(() => {
    image = buildImage(folderFor(cleanup))
    const [node, ...args] = commandOf(stage, 'ENTRYPOINT')
    assert.equal(node, 'node')
    program = join(folderFor(cleanup), 'petstore')
    const lines = [
      '#!/bin/sh',
      `cd '${image.folder}' || exit`,
      ...Object.entries(variables).map(([name, value]) => `export ${name}='${value}'`),
      `exec '${process.execPath}' ${args.join(' ')} "$@"`,
    ]
    writeFileSync(program, `${lines.join('\n')}\n`)
    chmodSync(program, 0o755)
  })
  after(() => cleanup.end())

  test('is built from the files that it copies, and serves the console from what it contains', async (t) => {
    await useInstallation(t, { program, cwd: folderFor(t), path: dirname(process.execPath) })
  })

  test('is built by commands that run here, but for one that changes files of the base image', (t) => {
    for (const command of image.notRun) t.diagnostic(`Not run: ${command}`)
    assert.deepEqual(
      image.notRun.map((command) => command.replace(/ .* && /, ' ... && ')),
      ['rm ... && install -d -m 0700 -o 10001 -g 10001 /data'],
    )
  })

  test('has a health check that succeeds only while the service runs', async (t) => {
    const [node, ...args] = commandOf(stage, 'HEALTHCHECK')
    assert.deepEqual([node, commandOf(stage, 'CMD')], ['node', ['serve']])
    const server = await serverFor(t, {}, { program })
    const check = () => spawnSync(process.execPath, args, { env: { PORT: new URL(server.base).port } }).status
    assert.equal(check(), 0)
    await stopped(server)
    assert.equal(check(), 1)
  })
})
