import { isUtf8 } from 'node:buffer'

type OtherFormat = { readonly problem: string; readonly example?: string }

/** What to do with a file that is in a common format, but not in the expected one. Undefined for other files. */
export function describeOtherFormat(
  firstBytes: Buffer,
  format: 'csv' | 'ndjson',
  { withExample }: { readonly withExample: boolean },
): string | undefined {
  const found = otherFormat(firstBytes.toString('latin1'), format) ?? otherEncoding(firstBytes, format)
  const example = withExample && found?.example ? `, for example with "${found.example}"` : ''
  return found && `${found.problem}${example}.`
}

/** A spreadsheet that is saved as CSV without "UTF-8" has the encoding of the machine. */
function otherEncoding(firstBytes: Buffer, format: 'csv' | 'ndjson'): OtherFormat | undefined {
  const end = firstBytes.indexOf('\n')
  if (format !== 'csv' || end === -1 || isUtf8(firstBytes.subarray(0, end))) return undefined
  return {
    problem: 'The header of the file is not in UTF-8. Save the spreadsheet as "CSV UTF-8" first',
    example: 'iconv -f WINDOWS-1252 -t UTF-8 FILE',
  }
}

function otherFormat(start: string, format: 'csv' | 'ndjson'): OtherFormat | undefined {
  if (start.startsWith('\x1f\x8b'))
    return {
      problem: 'The file is compressed with gzip. Decompress it first',
      example: 'gunzip -c FILE | petstore import -',
    }
  if (start.startsWith('PK\x03\x04'))
    return { problem: 'The file is a ZIP archive or a spreadsheet. Save it as CSV in UTF-8 first' }
  if (/^(?:\xff\xfe|\xfe\xff|[^\0]\0[^\0]\0|\0[^\0]\0[^\0])/.test(start))
    return {
      problem: 'The file is in UTF-16. Save it in UTF-8 first',
      example: 'iconv -f UTF-16 -t UTF-8 FILE',
    }
  if (format === 'ndjson' && /^(?:\xef\xbb\xbf)?\s*\[/.test(start))
    return {
      problem: 'The file is a JSON array. NDJSON has one object on each line. Convert it first',
      example: "jq -c '.[]' FILE | petstore import -",
    }
  if (/\r[^\n]/.test(start) && !start.includes('\n'))
    return {
      problem: 'The lines of the file end with CR alone. Convert it first',
      example: "tr '\\r' '\\n' < FILE",
    }
  return undefined
}
