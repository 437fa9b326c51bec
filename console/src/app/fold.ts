/** Letters that Unicode does not take apart, and the apostrophe that phones write. */
const replaced: Readonly<Record<string, string>> = {
  Æ: 'AE',
  Œ: 'OE',
  Ø: 'O',
  Ł: 'L',
  Đ: 'D',
  Ð: 'D',
  Þ: 'TH',
  ẞ: 'SS',
  '’': "'",
}
const replacedPattern = new RegExp(`[${Object.keys(replaced).join('')}]`, 'g')

/** Text for comparison, without case and accents: "Zoë" and "ZOE" are the same. It does not depend on the language. */
export const foldText = (text: string): string =>
  text
    .normalize('NFKD')
    .replace(/[\u0300-\u036f]/g, '')
    .toUpperCase()
    .replace(replacedPattern, (letter) => replaced[letter] ?? letter)
    .normalize('NFC')
