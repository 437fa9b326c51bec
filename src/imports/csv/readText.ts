import { isUtf8 } from 'node:buffer'
import type { Problem } from './problem.ts'

/** A photo is one line. */
export const lineBytesMax = 4 * 1024 * 1024 + 64 * 1024
export const chunkBytes = 64 * 1024
const lineFeed = 0x0a

/** Whole lines, the last of which may lack its line feed. Wrong lines are blank. */
export type TextChunk = {
  readonly text: string
  /** The number of the first line. */
  readonly line: number
  readonly bytes: number
  readonly problems: readonly Problem[]
}

/**
 * Reads a text in bounded memory. Lines that are too long, or not valid UTF-8, are reported. `node:readline` is not used:
 * it also splits at U+2028, which is allowed inside JSON strings.
 */
export async function* readText(
  source: AsyncIterable<Buffer>,
  onBytes?: (bytes: Buffer) => void,
): AsyncGenerator<TextChunk> {
  /** The line that has not ended. Its parts are joined once: a long line has many. */
  let rest: Buffer[] = []
  let restBytes = 0
  let line = 1
  /** Within a line that is too long. */
  let isDropping = false
  for await (const bytes of source) {
    onBytes?.(bytes)
    let next = bytes
    if (isDropping) {
      const end = bytes.indexOf(lineFeed)
      if (end === -1) continue
      isDropping = false
      next = bytes.subarray(end)
    }
    const end = next.lastIndexOf(lineFeed) + 1
    if (end > 0) {
      const chunk = toText(Buffer.concat([...rest, next.subarray(0, end)]), line)
      yield chunk
      line += countLineFeeds(chunk.text)
      rest = []
      restBytes = 0
    }
    // A copy: the source uses its buffer again.
    rest.push(Buffer.from(next.subarray(end)))
    restBytes += next.length - end
    if (restBytes > lineBytesMax) {
      yield { text: '', line, bytes: 0, problems: [tooLong(line)] }
      rest = []
      restBytes = 0
      isDropping = true
    }
  }
  if (restBytes > 0) yield toText(Buffer.concat(rest), line)
}

function toText(bytes: Buffer, line: number): TextChunk {
  if (bytes.length <= lineBytesMax && isUtf8(bytes))
    return { text: bytes.toString('utf8'), line, bytes: bytes.length, problems: [] }
  const problems: Problem[] = []
  const lines: Buffer[] = []
  for (let start = 0; start < bytes.length; ) {
    const end = bytes.indexOf(lineFeed, start) + 1 || bytes.length
    const each = bytes.subarray(start, end)
    const number = line + lines.length
    const problem =
      each.length > lineBytesMax + 1
        ? tooLong(number)
        : isUtf8(each)
          ? undefined
          : { line: number, reason: 'not valid UTF-8' }
    if (problem) problems.push(problem)
    lines.push(problem ? Buffer.from('\n') : each)
    start = end
  }
  return { text: Buffer.concat(lines).toString('utf8'), line, bytes: bytes.length, problems }
}

const tooLong = (line: number): Problem => ({ line, reason: `longer than ${lineBytesMax} bytes` })

export function countLineFeeds(text: string, start = 0, end = text.length): number {
  let count = 0
  for (let at = text.indexOf('\n', start); at !== -1 && at < end; at = text.indexOf('\n', at + 1)) count++
  return count
}
