const breaks = /<(?:br|\/p|\/div|\/li|\/tr|\/h[1-6])\b[^<>]*>/gi
// Each part ends at the next "<", so the time does not depend on how many there are.
const tags = /<\/?[a-z][^<>]*>/gi
const entities = /&(?:#(\d{1,7})|#x([\da-f]{1,6})|([a-z]{2,6}));/gi
const named: Readonly<Record<string, string>> = {
  amp: '&',
  lt: '<',
  gt: '>',
  quot: '"',
  apos: "'",
  nbsp: ' ',
  rsquo: '’',
  lsquo: '‘',
  rdquo: '”',
  ldquo: '“',
  ndash: '–',
  mdash: '—',
  hellip: '…',
}

/** The text of HTML, with its line breaks. */
export const htmlToText = (html: string): string =>
  html
    .replaceAll(/\r\n?/g, '\n')
    .replaceAll(breaks, '\n')
    .replaceAll(tags, '')
    .replaceAll(entities, (entity, decimal, hexadecimal, name) => {
      if (name !== undefined) return named[name.toLowerCase()] ?? entity
      const code = decimal === undefined ? Number.parseInt(hexadecimal, 16) : Number(decimal)
      const isCharacter = code > 0 && code <= 0x10ffff && (code < 0xd800 || code > 0xdfff)
      return isCharacter ? String.fromCodePoint(code) : entity
    })
    .replaceAll(/\n{3,}/g, '\n\n')
    .trim()
