/** Why tests need not notice a mutant. */
export type Reason = {
  readonly file: string
  /** A part of the line that is changed. */
  readonly code: string
  /** Only these changes of the line. */
  readonly replacements?: readonly string[]
  readonly reason: string
}

const of = (file: string, reasons: readonly Omit<Reason, 'file'>[]): Reason[] =>
  reasons.map((reason) => ({ file, ...reason }))

const onlyForTypes = 'no difference: the default is there for the types; the first part always exists'
const isFaster = 'no difference in the result: it saves time in the common case'
const isUtf8 = 'no difference: Node takes an empty name for UTF-8'

export const reasons: readonly Reason[] = [
  ...of('src/limits/window.ts', [
    {
      code: 'return minute.remaining < day.remaining',
      replacements: ['minute.remaining <= day.remaining'],
      reason: 'no difference: the condition before it excludes equal values',
    },
    {
      code: 'return minute.resetsAt > day.resetsAt',
      replacements: ['minute.resetsAt >= day.resetsAt'],
      reason:
        'Both windows have the same number left and end at the same time. The rule does not say which one is shown.',
    },
    {
      code: 'state.banned_until > 0',
      replacements: ['true', 'state.banned_until >= 0'],
      reason:
        'no difference: without a ban it is 0, and the second condition is false for every time after 1970-01-02',
    },
    {
      code: 'state.banned_at > 0',
      replacements: ['true', 'state.banned_at >= 0'],
      reason: 'no difference in the values: a state without a ban is copied',
    },
  ]),
  ...of('src/orders/queries.ts', [
    {
      code: 'if (petIds.length === 0) return []',
      replacements: ['false'],
      reason: 'no difference in the result: it saves a query',
    },
    {
      code: 'if (locked) expired++',
      replacements: ['true'],
      reason:
        'On SQLite no other transaction can have locked the animal. `test/postgres/simultaneousOrders.test.ts` notices it.',
    },
  ]),
  ...of('src/api/etag.ts', [
    {
      code: 'header.match(entityTags) ?? []',
      replacements: ['["Stryker was here"]'],
      reason: 'no difference: the text that replaces the empty list is no ETag',
    },
    {
      code: "if (context.header('if-match') !== undefined)",
      replacements: ['true'],
      reason: 'no difference in the result: `requireEtag` checks it again. It saves making the JSON.',
    },
  ]),
  ...of('src/api/json.ts', [
    { code: "if (!quoted.includes('\\\\'))", replacements: ['false', '""'], reason: isFaster },
    { code: 'charCodeAt(this.#at) <= 0x20', replacements: ['true'], reason: isFaster },
    { code: "(before.at(-1) ?? '')", replacements: ['"Stryker was here!"'], reason: onlyForTypes },
    { code: 'const fewDigits = ', reason: isFaster },
    { code: 'if (fewDigits.test(text))', replacements: ['false'], reason: isFaster },
    { code: "const [mantissa = '', exponent", replacements: ['"Stryker was here!"'], reason: onlyForTypes },
    { code: "exponent = '0'", replacements: ['""'], reason: 'no difference: `Number` takes both for 0' },
    { code: "const [whole = '', fraction", replacements: ['"Stryker was here!"'], reason: onlyForTypes },
  ]),
  ...of('src/api/pagination.ts', [
    {
      code: '} catch {',
      replacements: ['{}'],
      reason: 'no difference: the function returns undefined anyway',
    },
  ]),
  ...of('src/api/idempotency.ts', [
    {
      code: 'if (header === undefined) return undefined',
      replacements: ['false'],
      reason:
        'no difference: the expressions take it for the text "undefined", which is valid, and it is returned',
    },
    {
      code: "old.$asTuple('key_id', 'idempotency_key')",
      replacements: ['""'],
      reason: 'no difference: the arguments are there for the types',
    },
    { code: "encryption.update(text, 'utf8')", replacements: ['""'], reason: isUtf8 },
    { code: "decryption.final('utf8')", replacements: ['""'], reason: isUtf8 },
  ]),
]
