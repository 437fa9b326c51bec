import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { closeSync, constants, openSync, readSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { LineWriter } from '../../src/telemetry/lineWriter.ts'
import { eventually } from '../support/eventually.ts'
import { folderFor } from '../support/servers.ts'

const readOnly = constants.O_RDONLY | constants.O_NONBLOCK
const writeOnly = constants.O_WRONLY | constants.O_NONBLOCK
const describeLoss = (count: number) => `lost ${count}\n`
/** Many fit into the buffer of a pipe, 64 KiB, and no whole number of them does. */
const line = `${'x'.repeat(999)}\n`

function pipeFor(t: TestContext) {
  const file = join(folderFor(t), 'pipe')
  execFileSync('mkfifo', [file])
  const reader = openSync(file, readOnly)
  const fd = openSync(file, writeOnly)
  t.after(() => closeSync(fd))
  return { file, reader, fd }
}

function readSome(fd: number): string {
  const buffer = Buffer.alloc(64 * 1024)
  try {
    return buffer.toString('utf8', 0, readSync(fd, buffer))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EAGAIN') return ''
    throw error
  }
}

test('a reader that does not read gets what fits into the memory, and then the number of the others', async (t) => {
  const { reader, fd } = pipeFor(t)
  const writer = new LineWriter(fd, { describeLoss, waitingBytesMax: 256 * 1024 })
  for (let n = 0; n < 1_000; n++) writer.write(line)
  await writer.flush()
  const { linesLost } = writer
  assert.ok(linesLost >= 1_000 - (256 * 1024 + 64 * 1024) / line.length && linesLost < 1_000, `${linesLost}`)
  let text = ''
  const countOf = (part: string) => text.split(part).length - 1
  await eventually('the others', () => {
    text += readSome(reader)
    return countOf(line) === 1_000 - linesLost
  })
  assert.equal(countOf(`\nlost ${linesLost}\n`), 1)
  writer.write('later\n')
  await writer.close()
  assert.equal(readSome(reader), 'later\n')
  assert.deepEqual([writer.linesLost, writer.isBlocked], [linesLost, false])
  closeSync(reader)
})

test('after a line that was cut, the next one begins with a line feed', async (t) => {
  const { file, reader, fd } = pipeFor(t)
  const writer = new LineWriter(fd, { describeLoss })
  for (let n = 0; n < 100; n++) writer.write(line)
  await writer.flush()
  closeSync(reader)
  await eventually('the rest is lost', () => writer.linesLost > 0)
  const next = openSync(file, readOnly)
  let text = ''
  await eventually('the number', () => {
    text += readSome(next)
    return text.includes('lost')
  })
  // The pipe still has what was written before.
  assert.match(text.replaceAll(line, ''), new RegExp(`^x+\nlost ${writer.linesLost}\n$`))
  await writer.close()
  closeSync(next)
})

test('lines that wait take no more memory than they have', async (t) => {
  const { reader, fd } = pipeFor(t)
  const writer = new LineWriter(fd, { describeLoss })
  for (let n = 0; n < 100; n++) writer.write(line)
  const before = process.memoryUsage().arrayBuffers
  for (let n = 0; n < 1_000; n++) {
    writer.write('short\n')
    void writer.flush()
  }
  assert.ok(process.memoryUsage().arrayBuffers - before < 16 * 1024 * 1024)
  writer.abandon()
  closeSync(reader)
})
