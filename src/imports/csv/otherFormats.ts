/** What to do with a file that is in a common format, but not in the expected one. Undefined for other files. */
export function describeOtherFormat(firstBytes: Buffer, format: 'csv' | 'ndjson'): string | undefined {
  const start = firstBytes.toString('latin1')
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
