import { createCipheriv, createDecipheriv, createHash, hkdfSync, randomBytes } from 'node:crypto'
import type { Kysely } from 'kysely'
import type { Database } from '../database/database.ts'
import type { Tables } from '../database/tables.ts'
import { ApiError, toApiError, validationFailed } from './errors.ts'
import { type OperationResult, type Principal, respond } from './operation.ts'

const keptMs = 24 * 60 * 60 * 1000
const sweepRowsMax = 1_000

/** The key of an `Idempotency-Key` header, bare or quoted. */
export function parseIdempotencyKey(header: string | undefined): string | undefined {
  if (header === undefined) return undefined
  const bare = /^"(.*)"$/.exec(header)?.[1] ?? header
  if (/^[\x21-\x7e]{1,255}$/.test(bare)) return bare
  throw validationFailed([{ path: 'Idempotency-Key', message: 'must be 1 to 255 visible ASCII characters' }])
}

type Attempt = {
  readonly key: string
  readonly caller: Principal
  readonly method: string
  readonly path: string
  readonly bytes: Uint8Array
  /** The answer holds a secret, so it is kept only under the caller's own. */
  readonly isSecret: boolean
  readonly now: number
}

type Run = (trx: Kysely<Tables>) => Promise<OperationResult>

/** Does the work once for each Idempotency-Key and caller; the answer is kept in the transaction that did the work. */
export class IdempotencyRecords {
  readonly #database: Database
  readonly #running = new Map<string, string>()

  constructor(database: Database) {
    this.#database = database
  }

  async once(attempt: Attempt, run: Run, onDurable: () => void): Promise<OperationResult> {
    const slot = `${attempt.caller.keyId} ${attempt.key}`
    const fingerprint = fingerprintOf(attempt)
    const runningFingerprint = this.#running.get(slot)
    if (runningFingerprint !== undefined) {
      if (runningFingerprint !== fingerprint) throw new ApiError('idempotency_key_reused')
      throw new ApiError('idempotency_in_progress', undefined, { headers: { 'Retry-After': '1' } })
    }
    this.#running.set(slot, fingerprint)
    try {
      return await this.#firstOrKept(attempt, fingerprint, run, onDurable)
    } finally {
      this.#running.delete(slot)
    }
  }

  /** Forgets what is older than promised; a bounded piece at a time. */
  async sweep(now: number): Promise<void> {
    let forgotten: bigint
    do {
      forgotten = await this.#database.write((trx) => forgetSome(trx, now))
    } while (forgotten >= sweepRowsMax)
  }

  async #firstOrKept(
    attempt: Attempt,
    fingerprint: string,
    run: Run,
    onDurable: () => void,
  ): Promise<OperationResult> {
    try {
      return await this.#database.write(async (trx) => {
        const kept = await find(trx, attempt, fingerprint)
        if (kept) return kept
        const first = await run(trx)
        await keep(trx, attempt, fingerprint, first)
        return first
      }, onDurable)
    } catch (thrown) {
      const error = toApiError(thrown)
      if (error.status >= 500 || error.code === 'idempotency_key_reused') throw thrown
      // A refusal did no work, so its record needs no company in the transaction; but it is an answer, and is kept.
      const refusal = respond(error.status, error.body, error.headers)
      return this.#database.write(async (trx) => {
        // Meanwhile the same request may have come to another instance, and have had its answer there.
        const kept = await find(trx, attempt, fingerprint)
        if (!kept) await keep(trx, attempt, fingerprint, refusal)
        return kept ?? refusal
      })
    }
  }
}

async function forgetSome(trx: Kysely<Tables>, now: number): Promise<bigint> {
  const old = trx
    .selectFrom('idempotency_records')
    .select(['key_id', 'idempotency_key'])
    .where('created_at', '<=', now - keptMs)
    .limit(sweepRowsMax)
  const { numDeletedRows } = await trx
    .deleteFrom('idempotency_records')
    .where((eb) =>
      eb(eb.refTuple('key_id', 'idempotency_key'), 'in', old.$asTuple('key_id', 'idempotency_key')),
    )
    .executeTakeFirst()
  return numDeletedRows
}

/** Takes out of kept answers what is erased. They stay, for a retry must still find that the work is done. */
export async function eraseFromIdempotencyRecords(
  trx: Kysely<Tables>,
  concern: string,
  erase: (json: string) => string,
): Promise<void> {
  const kept = await trx
    .selectFrom('idempotency_records')
    .select(['key_id', 'idempotency_key', 'body'])
    .where('subject_ref', '=', concern)
    .execute()
  for (const { key_id, idempotency_key, body } of kept) {
    await trx
      .updateTable('idempotency_records')
      .set({ body: erase(body) })
      .where('key_id', '=', key_id)
      .where('idempotency_key', '=', idempotency_key)
      .execute()
  }
}

async function find(
  trx: Kysely<Tables>,
  attempt: Attempt,
  fingerprint: string,
): Promise<OperationResult | undefined> {
  const kept = await trx
    .selectFrom('idempotency_records')
    .selectAll()
    .where('key_id', '=', attempt.caller.keyId)
    .where('idempotency_key', '=', attempt.key)
    .where('created_at', '>', attempt.now - keptMs)
    .executeTakeFirst()
  if (!kept) return undefined
  if (kept.fingerprint !== fingerprint) throw new ApiError('idempotency_key_reused')
  const headers = { ...JSON.parse(kept.headers), 'Idempotent-Replayed': 'true' }
  const json = attempt.isSecret ? decrypt(kept.body, attempt) : kept.body
  return json === '' ? { status: kept.status, headers } : { status: kept.status, headers, json }
}

async function keep(
  trx: Kysely<Tables>,
  attempt: Attempt,
  fingerprint: string,
  kept: OperationResult,
): Promise<void> {
  const json = kept.json ?? ''
  const values = {
    key_id: attempt.caller.keyId,
    idempotency_key: attempt.key,
    fingerprint,
    status: kept.status,
    headers: JSON.stringify(kept.headers ?? {}),
    body: attempt.isSecret ? encrypt(json, attempt) : json,
    created_at: attempt.now,
    subject_ref: kept.subjectRef ?? null,
  }
  await trx
    .insertInto('idempotency_records')
    .values(values)
    .onConflict((conflict) => conflict.columns(['key_id', 'idempotency_key']).doUpdateSet(values))
    .execute()
}

/** With a secret answer the caller's own secret is part of the request: only who holds it can read the answer again. */
function fingerprintOf({ method, path, bytes, isSecret, caller }: Attempt): string {
  const hash = createHash('sha256').update(`${method} ${path}\n`).update(bytes)
  if (isSecret) hash.update(`\n${caller.token}`)
  return hash.digest('base64url')
}

const cipher = 'aes-256-gcm'
const nonceBytes = 12
const tagBytes = 16
const cipherKey = ({ caller, key }: Attempt) =>
  Buffer.from(hkdfSync('sha256', caller.token, key, 'petstore idempotent answer', 32))

function encrypt(text: string, attempt: Attempt): string {
  const nonce = randomBytes(nonceBytes)
  const encryption = createCipheriv(cipher, cipherKey(attempt), nonce)
  const bytes = Buffer.concat([encryption.update(text, 'utf8'), encryption.final()])
  return Buffer.concat([nonce, encryption.getAuthTag(), bytes]).toString('base64')
}

function decrypt(text: string, attempt: Attempt): string {
  const bytes = Buffer.from(text, 'base64')
  const decryption = createDecipheriv(cipher, cipherKey(attempt), bytes.subarray(0, nonceBytes))
  decryption.setAuthTag(bytes.subarray(nonceBytes, nonceBytes + tagBytes))
  return (
    decryption.update(bytes.subarray(nonceBytes + tagBytes), undefined, 'utf8') + decryption.final('utf8')
  )
}
