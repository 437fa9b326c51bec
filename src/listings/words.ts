/** How text becomes the words of the search index. Queries and animals use the same functions on both engines. */

const wordLengthMax = 32

/** Letters that have no decomposition, by what people type for them. */
const replacements: Readonly<Record<string, string>> = {
  ß: 'ss',
  ø: 'o',
  æ: 'ae',
  œ: 'oe',
  ł: 'l',
  đ: 'd',
  ð: 'd',
  þ: 'th',
  ı: 'i',
  ς: 'σ',
  ħ: 'h',
}
const replaced = new RegExp(`[${Object.keys(replacements).join('')}]`, 'g')

/** Accents, Hebrew points and Arabic vowel marks. In Indic scripts a mark is a vowel, so it stays. */
const ignoredMarks =
  /[\u0300-\u036f\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06dc\u06df-\u06e4\u06e7\u06e8\u06ea-\u06ed]/g
const innerApostrophes = /(?<=[\p{L}\p{N}\p{M}])['\u2019\u02bc\uff07](?=[\p{L}\p{N}])/gu
export const separators = /[^\p{L}\p{N}\p{M}]+/u

/** Scripts that are written without spaces. */
const unspaced =
  '\\p{sc=Han}\\p{sc=Hiragana}\\p{sc=Katakana}\\p{sc=Thai}\\p{sc=Lao}\\p{sc=Khmer}\\p{sc=Myanmar}\\u30fc\\u3005'
const unspacedRun = new RegExp(`[${unspaced}][${unspaced}\\p{M}]*`, 'gu')

/** Text without differences of case, accents and width. */
export const fold = (text: string): string =>
  text
    .toLowerCase()
    .normalize('NFKD')
    .toLowerCase()
    .replace(ignoredMarks, '')
    .replace(replaced, (letter) => replacements[letter] as string)
    .replace(innerApostrophes, '')
    .normalize('NFC')

/**
 * The words of a text, in order and with repetitions. Text of a script without spaces becomes its pairs of neighbouring
 * characters. The last word of a query also matches longer ones, unless it is such a pair.
 */
export function* wordsOf(text: string): Generator<{ readonly word: string; readonly isPair: boolean }> {
  const folded = fold(text)
  // Most texts have none, and looking for them in each word takes most of the time.
  const hasUnspaced = folded.search(unspacedRun) !== -1
  for (const part of folded.split(separators)) {
    if (!hasUnspaced) {
      if (part !== '') yield { word: shortened(part), isPair: false }
      continue
    }
    let end = 0
    for (const { 0: run, index } of part.matchAll(unspacedRun)) {
      if (index > end) yield { word: shortened(part.slice(end, index)), isPair: false }
      for (const word of pairsOf(run)) yield { word, isPair: true }
      end = index + run.length
    }
    if (end < part.length) yield { word: shortened(part.slice(end)), isPair: false }
  }
}

/** A text with a number, such as that of a chip or an intake, as it is compared: without spaces, hyphens and dots. */
export const compactNumber = (text: string): string =>
  /\p{N}/u.test(text) ? text.replace(/[\s.\p{Pd}]+/gu, '') : ''

const shortened = (word: string): string =>
  word.length <= wordLengthMax ? word : [...word].slice(0, wordLengthMax).join('')

function pairsOf(run: string): string[] {
  const characters = [...run]
  return characters.length === 1
    ? characters
    : characters.slice(1).map((character, index) => `${characters[index]}${character}`)
}
