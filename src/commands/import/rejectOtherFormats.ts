import type { ImportInput } from './input.ts'
import type { ReadOptions } from './records.ts'

/** Fails for files of common formats that are neither CSV nor NDJSON in UTF-8. Their lines would all be wrong. */
export async function rejectOtherFormats(input: ImportInput, { format }: ReadOptions): Promise<void> {
  for await (const start of input.open()) {
    const problem = findProblem(start.toString('latin1'), format)
    if (problem !== undefined) throw new Error(`${problem} Nothing was imported.`)
    return
  }
}

function findProblem(start: string, format: ReadOptions['format']): string | undefined {
  if (start.startsWith('\x1f\x8b'))
    return 'The file is compressed with gzip. Decompress it first, for example with "gunzip -c FILE | petstore import -".'
  if (start.startsWith('PK\x03\x04'))
    return 'The file is a ZIP archive or a spreadsheet. Save it as CSV in UTF-8 first.'
  if (/^(?:\xff\xfe|\xfe\xff|[^\0]\0[^\0]\0|\0[^\0]\0[^\0])/.test(start))
    return 'The file is in UTF-16. Save it in UTF-8 first, for example with "iconv -f UTF-16 -t UTF-8 FILE".'
  if (format === 'ndjson' && /^(?:\xef\xbb\xbf)?\s*\[/.test(start))
    return `The file is a JSON array. NDJSON has one object on each line. Convert it first, for example with "jq -c '.[]' FILE | petstore import -".`
  if (/\r[^\n]/.test(start) && !start.includes('\n'))
    return `The lines of the file end with CR alone. Convert it first, for example with "tr '\\r' '\\n' < FILE".`
  return undefined
}
