import assert from 'node:assert/strict'

/** Texts that must not be where they do not belong, by what they are. */
export type Secrets = Readonly<Record<string, string>>

const formsOf = (secret: string): string[] => [
  secret,
  encodeURIComponent(secret),
  JSON.stringify(secret).slice(1, -1),
  Buffer.from(secret).toString('base64').replace(/=+$/, ''),
  Buffer.from(secret).toString('hex'),
]

/** The secrets that a text contains, also encoded. */
export const secretsIn = (text: string, secrets: Secrets): string[] =>
  Object.entries(secrets).flatMap(([what, secret]) =>
    formsOf(secret).some((form) => text.includes(form)) ? what : [],
  )

export function assertNoSecrets(where: string, text: string, secrets: Secrets): void {
  assert.ok(text.length > 0, `${where} is empty.`)
  assert.deepEqual(secretsIn(text, secrets), [], where)
}
