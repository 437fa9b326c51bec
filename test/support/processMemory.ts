import { closeSync, openSync, readFileSync, readSync } from 'node:fs'

const chunkBytes = 16 * 1024 * 1024
/** No searched text is longer. A text at the border of two chunks is in the overlap. */
const overlapBytes = 4096

/** Those of the texts that the memory of a process contains, as a core dump would. Linux only. */
export function textsInMemory(processId: number, texts: readonly string[]): string[] {
  const forms = texts.map((text) => [Buffer.from(text), Buffer.from(text, 'utf16le')])
  const found = new Set<string>()
  const file = openSync(`/proc/${processId}/mem`, 'r')
  try {
    for (const chunk of chunksOf(processId, file))
      for (const [index, text] of texts.entries())
        if (forms[index]?.some((form) => chunk.includes(form))) found.add(text)
  } finally {
    closeSync(file)
  }
  return texts.filter((text) => found.has(text))
}

function* chunksOf(processId: number, file: number): Generator<Buffer> {
  const buffer = Buffer.alloc(chunkBytes)
  const regions = readFileSync(`/proc/${processId}/maps`, 'utf8').matchAll(/^(\w+)-(\w+) rw/gm)
  for (const [, from = '', to = ''] of regions) {
    const [start, end] = [Number.parseInt(from, 16), Number.parseInt(to, 16)]
    for (let at = start; at < end; at += chunkBytes - overlapBytes) {
      const length = read(file, buffer, Math.min(chunkBytes, end - at), at)
      yield buffer.subarray(0, length)
    }
  }
}

/** The process may give memory back between the list of its regions and the read. */
function read(file: number, buffer: Buffer, length: number, at: number): number {
  try {
    return readSync(file, buffer, 0, length, at)
  } catch {
    return 0
  }
}
