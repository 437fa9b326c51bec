import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { closeSync, constants, openSync, readSync } from 'node:fs'
import { join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import { eventually } from '../support/eventually.ts'
import { parsePrometheus } from '../support/prometheus.ts'
import { folderFor, type Server, serverFor, stopped } from '../support/servers.ts'

const long = `/v1/${'x/'.repeat(2_000)}x`

/** Sends requests that the log has a long line of. */
async function sendMany(server: Server, count: number): Promise<void> {
  for (let n = 0; n < count; n++)
    assert.equal((await server.request('GET', long, { key: server.operatorKey })).status, 404)
}

async function linesLost(server: Server): Promise<number> {
  const { text } = await server.request('GET', '/metrics', { key: server.operatorKey })
  const [sample] = parsePrometheus(text).get('petstore_log_lines_lost_total')?.samples ?? []
  assert.ok(sample)
  return sample.value
}

function fifoFor(t: TestContext): string {
  const file = join(folderFor(t), 'log')
  execFileSync('mkfifo', [file])
  return file
}

const readOnly = constants.O_RDONLY | constants.O_NONBLOCK

/** Everything that can be read now. */
function readAll(fd: number): string {
  const buffer = Buffer.alloc(1024 * 1024)
  let text = ''
  for (;;)
    try {
      const length = readSync(fd, buffer)
      if (length === 0) return text
      text += buffer.toString('utf8', 0, length)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'EAGAIN') return text
      throw error
    }
}

describe('a log that cannot be written stops neither the service nor its end', { timeout: 120_000 }, () => {
  test('a full disk', async (t) => {
    const server = await serverFor(t, {}, { redirect: '2>/dev/full' })
    await sendMany(server, 20)
    await eventually('lost lines are counted', async () => (await linesLost(server)) >= 20)
    assert.equal((await server.request('GET', '/healthz')).status, 200)
    const { code, signal } = await stopped(server)
    assert.deepEqual([code, signal], [0, null])
  })

  test('a reader that has left', async (t) => {
    const server = await serverFor(t)
    server.child.stderr.destroy()
    server.child.stdout.destroy()
    await sendMany(server, 20)
    await eventually('lost lines are counted', async () => (await linesLost(server)) >= 19)
    const { code, signal } = await stopped(server)
    assert.deepEqual([code, signal], [0, null])
  })

  test('a reader that does not read, of a pipe that blocks', async (t) => {
    const server = await serverFor(t)
    server.child.stderr.pause()
    await sendMany(server, 300)
    assert.equal((await server.request('GET', '/healthz')).status, 200)
    server.closeConnections()
    server.child.kill('SIGTERM')
    await new Promise((resolve) => server.child.once('exit', resolve))
  })

  test('a reader that does not read, of a pipe that does not block, and then reads', async (t) => {
    const fifo = openSync(fifoFor(t), constants.O_RDWR | constants.O_NONBLOCK)
    t.after(() => closeSync(fifo))
    const server = await serverFor(t, {}, { redirect: '2>&3', fd3: fifo })
    await sendMany(server, 100)
    assert.equal((await server.request('GET', '/healthz')).status, 200)
    let text = ''
    await eventually('all lines arrive', () => {
      text += readAll(fifo)
      return text.split(long).length === 101
    })
    for (const line of text.trimEnd().split('\n')) assert.equal(typeof JSON.parse(line).msg, 'string')
    assert.equal(await linesLost(server), 0)
    await sendMany(server, 100)
    const { code, signal } = await stopped(server)
    assert.deepEqual([code, signal], [0, null])
  })

  test('a new reader gets the number of the lines that were lost before, and whole lines', async (t) => {
    const file = fifoFor(t)
    let reader = openSync(file, readOnly)
    const server = await serverFor(t, {}, { redirect: `2>${file}` })
    await eventually('the first line', () => readAll(reader).includes('started'))
    closeSync(reader)
    await sendMany(server, 20)
    await eventually('lost lines are counted', async () => (await linesLost(server)) >= 20)
    reader = openSync(file, readOnly)
    t.after(() => closeSync(reader))
    let text = ''
    const notice = await eventually('the line with the number', () => {
      text += readAll(reader)
      const lines = text
        .slice(0, text.lastIndexOf('\n') + 1)
        .trimEnd()
        .split('\n')
      return lines
        .filter((line) => line !== '')
        .map((line) => JSON.parse(line))
        .find(({ msg }) => /lost/.test(msg))
    })
    assert.equal(notice.level, 40)
    assert.equal(notice.count, await linesLost(server))
    await sendMany(server, 1)
    await eventually('later lines', () => {
      text += readAll(reader)
      return text.includes(long)
    })
    const { code } = await stopped(server)
    assert.equal(code, 0)
  })
})
