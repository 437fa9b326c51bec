/**
 * Lossless JSON. Integers that fit int64 are parsed as bigint, in every notation (`3`, `3.0`, `3e0`); every other number
 * becomes a JavaScript number, so it is never taken for an int64. Rejected, unlike by JSON.parse: duplicate keys, lone
 * surrogates, NUL, deep nesting.
 */

export type JsonValue = null | boolean | number | bigint | string | JsonValue[] | { [key: string]: JsonValue }

export class JsonError extends Error {}

export const nestingMax = 32
export const int64Min = -(2n ** 63n)
export const int64Max = 2n ** 63n - 1n

const space = /[ \t\n\r]+/y
// biome-ignore lint/suspicious/noControlCharactersInRegex: JSON forbids them bare in a string.
const string = /"(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"/y
const number = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y
const leadingZeros = /^(-?)0+(?=\d)/
const numberWhole = new RegExp(`^${number.source}$`)
const literal = /true|false|null/y

export function parseJson(text: string): JsonValue {
  const reader = new Reader(text)
  const value = reader.value(1)
  reader.end()
  return value
}

/** The exact value of a number outside of JSON, if it fits int64: in JSON's grammar, also with zeros before it (`007`). */
export function parseInt64(text: string): bigint | undefined {
  const digits = text.replace(leadingZeros, '$1')
  return numberWhole.test(digits) ? toInt64(digits) : undefined
}

/** Serializes plain values; a bigint becomes a JSON number. Faster than JSON.stringify with a replacer. */
export function toJson(value: unknown): string {
  if (typeof value === 'bigint') return String(value)
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null'
  let text = ''
  if (Array.isArray(value)) {
    for (const item of value) text += `${text === '' ? '' : ','}${toJson(item)}`
    return `[${text}]`
  }
  for (const name in value) {
    const item = (value as Record<string, unknown>)[name]
    if (item !== undefined) text += `${text === '' ? '' : ','}${JSON.stringify(name)}:${toJson(item)}`
  }
  return `{${text}}`
}

class Reader {
  readonly #text: string
  #at = 0

  constructor(text: string) {
    this.#text = text
  }

  value(depth: number): JsonValue {
    this.#skipSpace()
    switch (this.#text[this.#at]) {
      case '{':
        return this.#object(depth)
      case '[':
        return this.#array(depth)
      case '"':
        return this.#string()
    }
    const digits = this.#skip(number)
    if (digits !== '') return toInt64(digits) ?? Number(digits)
    const word = this.#skip(literal)
    if (word !== '') return JSON.parse(word)
    return this.#fail(this.#at < this.#text.length ? 'expected a value' : 'the body ends too early')
  }

  end(): void {
    this.#skipSpace()
    if (this.#at < this.#text.length) this.#fail('expected nothing more')
  }

  #object(depth: number): JsonValue {
    // Without a prototype, "__proto__" is an ordinary key.
    const object: { [key: string]: JsonValue } = Object.create(null)
    this.#items('}', depth, () => {
      this.#skipSpace()
      if (this.#text[this.#at] !== '"') this.#fail('expected a key in double quotes')
      const keyAt = this.#at
      const key = this.#string()
      if (key in object) this.#fail(`the key ${shortened(key)} is given twice`, keyAt)
      if (!this.#take(':')) this.#fail('expected ":"')
      object[key] = this.value(depth + 1)
    })
    return object
  }

  #array(depth: number): JsonValue {
    const array: JsonValue[] = []
    this.#items(']', depth, () => array.push(this.value(depth + 1)))
    return array
  }

  /** Reads from an opening bracket to the closing one. */
  #items(closing: string, depth: number, readItem: () => void): void {
    if (depth > nestingMax) this.#fail(`nested deeper than ${nestingMax} levels`)
    this.#at++
    if (this.#take(closing)) return
    for (;;) {
      readItem()
      if (this.#take(closing)) return
      if (!this.#take(',')) this.#fail(`expected "," or "${closing}"`)
    }
  }

  #string(): string {
    const start = this.#at
    const quoted = this.#skip(string)
    if (quoted === '') this.#fail('this string is not closed, or has a character that must be escaped')
    if (!quoted.includes('\\')) return quoted.slice(1, -1)
    const text: string = JSON.parse(quoted)
    if (!text.isWellFormed()) this.#fail('this string has half of a surrogate pair', start)
    if (text.includes('\u0000')) this.#fail('this string has a NUL character', start)
    return text
  }

  /** Skips white space, and the character if it comes next. */
  #take(character: string): boolean {
    this.#skipSpace()
    if (this.#text[this.#at] !== character) return false
    this.#at++
    return true
  }

  #skipSpace(): void {
    // Most JSON has no white space between tokens. No token begins with a character at or below a space.
    if (this.#text.charCodeAt(this.#at) <= 0x20) this.#skip(space)
  }

  #skip(pattern: RegExp): string {
    const start = this.#at
    pattern.lastIndex = start
    if (!pattern.test(this.#text)) return ''
    this.#at = pattern.lastIndex
    return this.#text.slice(start, this.#at)
  }

  #fail(problem: string, at = this.#at): never {
    const before = this.#text.slice(0, at).split('\n')
    throw new JsonError(`line ${before.length}, column ${(before.at(-1) ?? '').length + 1}: ${problem}`)
  }
}

const shownKeyLengthMax = 100
const shortened = (key: string) => JSON.stringify([...key].slice(0, shownKeyLengthMax).join(''))

const int64DigitsMax = 19
/** The common case. */
const fewDigits = /^[1-9]\d{0,14}$/

function toInt64(text: string): bigint | undefined {
  if (fewDigits.test(text)) return BigInt(text)
  const [mantissa = '', exponent = '0'] = text.toLowerCase().split('e')
  const [whole = '', fraction = ''] = mantissa.replace('-', '').split('.')
  const digits = (whole + fraction).replace(/^0+/, '')
  if (digits === '') return 0n
  // A regular expression would take quadratic time on many zeros followed by another digit.
  let end = digits.length
  while (digits[end - 1] === '0') end--
  const significant = digits.slice(0, end)
  // The number of zeros after the significant digits; negative if there is a fraction.
  const zeros = Number(exponent) - fraction.length + (digits.length - significant.length)
  if (zeros < 0 || significant.length + zeros > int64DigitsMax) return undefined
  const value = BigInt((text.startsWith('-') ? '-' : '') + significant + '0'.repeat(zeros))
  return value >= int64Min && value <= int64Max ? value : undefined
}
