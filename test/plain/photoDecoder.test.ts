import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { after, describe, test } from 'node:test'
import { DecoderUnavailableError, type Uploader } from '../../src/photos/decodeQueue.ts'
import { defaultDecoderBounds, PhotoDecoder } from '../../src/photos/decoder.ts'
import { photoFileNames } from '../../src/photos/photo.ts'
import { eventually } from '../support/eventually.ts'
import { jpeg } from '../support/images.ts'

const decoders: PhotoDecoder[] = []
after(() => Promise.all(decoders.map((decoder) => decoder.stop())))
function createDecoder(bounds: ConstructorParameters<typeof PhotoDecoder>[0] = {}): PhotoDecoder {
  const decoder = new PhotoDecoder(bounds)
  decoders.push(decoder)
  return decoder
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

/** Takes longer to decode than a test needs to end the process. */
const large = jpeg(2_400, 1_800)

describe('the decoder', () => {
  test('makes all files of a photo in one process, which ends when it is idle', async () => {
    const decoder = createDecoder({ decoderIdleMs: 50 })
    const image = await jpeg()
    const first = decoder.decode(image)
    const decoded = await decoder.decode(image)
    const pid = decoder.processId as number
    assert.deepEqual(await first, decoded)
    assert.ok('files' in decoded)
    assert.deepEqual(Object.keys(decoded.files), photoFileNames)
    await eventually('the process has ended', () => !isRunning(pid))
    assert.ok('files' in (await decoder.decode(image)), 'it starts again')
  })

  /** Kills the next process, which is another one than the last. */
  async function killNext(decoder: PhotoDecoder, last?: number): Promise<number> {
    const isNext = (pid: number | undefined) => pid !== undefined && pid !== last && isRunning(pid)
    const pid = await eventually('a process runs', () => isNext(decoder.processId) && decoder.processId)
    process.kill(pid, 'SIGKILL')
    return pid
  }

  test('tries a photo again whose process is killed', async () => {
    const decoder = createDecoder()
    const decoding = decoder.decode(await large)
    await killNext(decoder)
    assert.ok('files' in (await decoding))
  })

  test('rejects a photo that ends two processes, and decodes the next', async () => {
    const decoder = createDecoder()
    const decoding = decoder.decode(await large)
    const next = decoder.decode(await jpeg())
    await killNext(decoder, await killNext(decoder))
    const rejected = await decoding
    assert.ok('problem' in rejected)
    assert.equal(rejected.problem, 'The image could not be decoded.')
    assert.ok('files' in (await next))
  })

  test('does not reject a photo because it is stopped', async () => {
    const decoder = createDecoder()
    const decoding = decoder.decode(await large)
    await eventually('the process runs', () => decoder.processId)
    await Promise.all([decoder.stop(), assert.rejects(decoding, DecoderUnavailableError)])
    assert.equal(decoder.processId, undefined)
  })

  const skip = process.platform !== 'linux' && 'only on Linux'
  test('kills a process that takes too much processor time', { skip }, async () => {
    assert.equal(defaultDecoderBounds.decodeCpuMaxMs, 10_000)
    // A process takes more than that to start.
    const decoder = createDecoder({ decodeCpuMaxMs: 50, decoderCheckMs: 1 })
    const decoded = await decoder.decode(await jpeg())
    assert.ok('problem' in decoded)
    assert.match(decoded.problem, /too much time/)
    assert.equal(decoder.processId, undefined)
  })

  test('a photo whose process takes too long is not rejected as such: the machine may be busy', async () => {
    const decoder = createDecoder({ decodeMaxMs: 500 })
    const decoding = decoder.decode(await large)
    const pid = await eventually('a process runs', () => decoder.processId)
    process.kill(pid, 'SIGSTOP')
    if (process.platform === 'linux') await assert.rejects(decoding, DecoderUnavailableError)
    else assert.ok('problem' in (await decoding))
    await eventually('the process has ended', () => !isRunning(pid))
    assert.notEqual(decoder.processId, pid)
  })

  test('gets no setting of the service, such as keys and passwords', { skip }, async () => {
    const decoder = createDecoder()
    await decoder.decode(await jpeg())
    assert.equal(readFileSync(`/proc/${decoder.processId}/environ`, 'utf8'), 'MALLOC_ARENA_MAX=1\0')
  })

  test('kills a process that takes too much memory, and says so', { skip }, async () => {
    const decoder = createDecoder({ decoderBytesMax: 1024 * 1024, decoderCheckMs: 1 })
    const decoded = await decoder.decode(await jpeg())
    assert.ok('problem' in decoded)
    assert.match(decoded.problem, /memory/)
  })

  test('starts a new process for the next photo if one keeps much memory', { skip }, async () => {
    const decoder = createDecoder({ decoderIdleBytesMax: 1024 * 1024 })
    for (let photo = 0; photo < 2; photo++) {
      assert.ok('files' in (await decoder.decode(await jpeg())))
      assert.equal(decoder.processId, undefined)
    }
  })

  const uploaderOf = (keyId: number, isDisconnected = () => false): Uploader => ({ keyId, isDisconnected })

  test('lets keys take turns, and two photos of a key wait', async () => {
    const decoder = createDecoder()
    const image = await jpeg()
    const order: string[] = []
    const decode = (name: string, uploader?: Uploader) =>
      decoder.decode(image, uploader).then(
        () => void order.push(name),
        (error: Error) => {
          assert.ok(error instanceof DecoderUnavailableError)
          order.push(`${name}: ${error.message}`)
        },
      )
    const [many, one, other] = [uploaderOf(1), uploaderOf(2), uploaderOf(3)]
    await Promise.all([
      ...[decode('a', many), decode('b', many), decode('c', many), decode('d', many)],
      ...[decode('import 1'), decode('import 2'), decode('import 3')],
      ...[decode('e', one), decode('f', other)],
    ])
    const [first, ...others] = order
    assert.equal(first, 'd: 2 other photos of this key are waiting.')
    assert.deepEqual(others, ['a', 'b', 'import 1', 'e', 'f', 'c', 'import 2', 'import 3'])
  })

  test('skips photos whose caller has left, and their places are free', async () => {
    const decoder = createDecoder({ decodesWaitingMax: 2 })
    const image = await jpeg()
    let hasLeft = false
    const leaving = uploaderOf(1, () => hasLeft)
    const first = decoder.decode(image)
    const left = [decoder.decode(image, leaving), decoder.decode(image, leaving)]
    await assert.rejects(decoder.decode(image, uploaderOf(2)), DecoderUnavailableError)
    hasLeft = true
    const next = decoder.decode(image, uploaderOf(2))
    for (const decoding of left) await assert.rejects(decoding, DecoderUnavailableError)
    for (const decoding of [first, next]) assert.ok('files' in (await decoding))
  })

  test('rejects photos beyond its queue, and those that wait when it stops', async () => {
    const decoder = createDecoder({ decodesWaitingMax: 2 })
    const image = await jpeg()
    const results = Array.from({ length: 5 }, () =>
      decoder.decode(image).then(
        () => 'decoded',
        (error: unknown) => error,
      ),
    )
    assert.ok((await results[3]) instanceof DecoderUnavailableError)
    assert.ok((await results[4]) instanceof DecoderUnavailableError)
    assert.equal(await results[0], 'decoded')
    await decoder.stop()
    assert.ok((await results[2]) instanceof DecoderUnavailableError)
  })
})
