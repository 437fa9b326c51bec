import { createReadStream, existsSync, statSync } from 'node:fs'
import { type FileHandle, mkdtemp, open, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { explainUnwritable } from '../../database/sqlite/unwritable.ts'
import { describeOtherFormat } from '../../imports/csv/otherFormats.ts'
import { chunkBytes } from '../../imports/csv/readText.ts'
import type { ReadOptions } from './records.ts'

/** A file that can be read several times. */
export type ImportInput = {
  readonly bytes: number
  /** Reads it from its start. */
  open(): AsyncIterable<Buffer>
  /** Fails if the file was changed since it was opened. */
  assertUnchanged(): Promise<void>
  close(): Promise<void>
}

/** Opens a file. Standard input, and anything else but a regular file, is copied to a temporary file first. */
export async function openInput(given: string | undefined): Promise<ImportInput> {
  const isStandardInput = given === undefined || given === '-'
  if (!isStandardInput && !existsSync(given)) throw new Error(`There is no file ${given}.`)
  if (!isStandardInput && statSync(given).isDirectory()) throw new Error(`${given} is a folder, not a file.`)
  if (!isStandardInput && statSync(given).isFile()) return inputOf(await open(given))
  if (isStandardInput && process.stdin.isTTY) console.error('Reading standard input. End it with Ctrl-D.')
  const copy = await openTemporaryFile()
  const source = isStandardInput ? process.stdin : createReadStream(given)
  await copy.writeFile(source).catch(async (cause: unknown) => {
    await copy.close()
    const message = `The input cannot be copied (${(cause as Error).message}): set TMPDIR to a folder with enough space.`
    throw new Error(message, { cause })
  })
  return inputOf(copy)
}

async function inputOf(file: FileHandle): Promise<ImportInput> {
  const { size: bytes, mtimeMs } = await file.stat()
  return {
    bytes,
    open: () => readChunks(file),
    async assertUnchanged() {
      const now = await file.stat()
      if (now.size !== bytes || now.mtimeMs !== mtimeMs)
        throw new Error('The file was changed during the import.')
    },
    close: () => file.close(),
  }
}

/**
 * Not a stream: a stream closes the file when its reader stops early. A chunk is valid until the next one is read: new
 * buffers would take more memory than everything else.
 */
async function* readChunks(file: FileHandle): AsyncGenerator<Buffer> {
  const buffer = Buffer.allocUnsafe(chunkBytes)
  for (let position = 0; ; ) {
    const { bytesRead } = await file.read({ buffer, position })
    if (bytesRead === 0) return
    yield buffer.subarray(0, bytesRead)
    position += bytesRead
  }
}

/** Without a name, so that it is deleted when the process ends, even after a crash. */
async function openTemporaryFile(): Promise<FileHandle> {
  try {
    const folder = await mkdtemp(join(tmpdir(), 'petstore-import-'))
    try {
      return await open(join(folder, 'input'), 'wx+', 0o600)
    } finally {
      await rm(folder, { recursive: true, force: true })
    }
  } catch (error) {
    throw explainUnwritable(error, tmpdir(), 'set TMPDIR to another folder')
  }
}

/** Fails for files of common formats that are neither CSV nor NDJSON in UTF-8. Their lines would all be wrong. */
export async function rejectOtherFormats(input: ImportInput, { format }: ReadOptions): Promise<void> {
  for await (const start of input.open()) {
    const problem = describeOtherFormat(start, format, { withExample: true })
    if (problem !== undefined) throw new Error(`${problem} Nothing was imported.`)
    return
  }
}
