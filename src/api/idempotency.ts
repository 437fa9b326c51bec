import { createCipheriv, createDecipheriv, createHash, hkdfSync, randomBytes } from 'node:crypto'
import type { Database } from '../database/database.ts'
import type { Db } from '../database/tables.ts'
import { ApiError, toApiError, validationFailed } from './errors.ts'
import { type OperationResult, type Principal, respond } from './operation.ts'

const retentionMs = 24 * 60 * 60 * 1000
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
  readonly principal: Principal
  readonly method: string
  readonly path: string
  readonly bytes: Uint8Array
  /** The response contains a secret, so it is stored encrypted with the caller's API key. */
  readonly isSecret: boolean
  readonly now: number
}

type Run = (trx: Db) => Promise<OperationResult>

/**
 * Runs a request once for each caller and Idempotency-Key. Its response is stored in the transaction of the request, and
 * replayed for a retry.
 */
export class IdempotencyRecords {
  readonly #database: Database
  readonly #running = new Map<string, string>()

  constructor(database: Database) {
    this.#database = database
  }

  async once(attempt: Attempt, run: Run, onDurable: () => void): Promise<OperationResult> {
    const slot = `${attempt.principal.keyId} ${attempt.key}`
    const fingerprint = fingerprintOf(attempt)
    const runningFingerprint = this.#running.get(slot)
    if (runningFingerprint !== undefined) {
      if (runningFingerprint !== fingerprint) throw new ApiError('idempotency_key_reused')
      throw new ApiError('idempotency_in_progress', undefined, { headers: { 'Retry-After': '1' } })
    }
    this.#running.set(slot, fingerprint)
    try {
      return await this.#runOrReplay(attempt, fingerprint, run, onDurable)
    } finally {
      this.#running.delete(slot)
    }
  }

  /** Deletes records whose retention has ended, in bounded batches. */
  async sweep(now: number): Promise<void> {
    let deleted: bigint
    do {
      deleted = await this.#database.write((trx) => deleteExpired(trx, now))
    } while (deleted >= sweepRowsMax)
  }

  async #runOrReplay(
    attempt: Attempt,
    fingerprint: string,
    run: Run,
    onDurable: () => void,
  ): Promise<OperationResult> {
    try {
      return await this.#database.write(async (trx) => {
        const stored = await find(trx, attempt, fingerprint)
        if (stored) return stored
        const result = await run(trx)
        await store(trx, attempt, fingerprint, result)
        return result
      }, onDurable)
    } catch (thrown) {
      const error = toApiError(thrown)
      if (error.status >= 500 || error.code === 'idempotency_key_reused') throw thrown
      // The transaction was rolled back, so the error is stored in another one.
      const result = respond(error.status, error.body, error.headers)
      return this.#database.write(async (trx) => {
        // Another instance may have served the same request in between.
        const stored = await find(trx, attempt, fingerprint)
        if (!stored) await store(trx, attempt, fingerprint, result)
        return stored ?? result
      })
    }
  }
}

async function deleteExpired(trx: Db, now: number): Promise<bigint> {
  const old = trx
    .selectFrom('idempotency_records')
    .select(['key_id', 'idempotency_key'])
    .where('created_at', '<=', now - retentionMs)
    .limit(sweepRowsMax)
  const { numDeletedRows } = await trx
    .deleteFrom('idempotency_records')
    .where((eb) =>
      eb(eb.refTuple('key_id', 'idempotency_key'), 'in', old.$asTuple('key_id', 'idempotency_key')),
    )
    .executeTakeFirst()
  return numDeletedRows
}

/** Erases data from stored responses. The records stay, because a retry must still find them. */
export async function eraseFromIdempotencyRecords(
  trx: Db,
  subjectRef: string,
  erase: (json: string) => string,
): Promise<void> {
  const records = await trx
    .selectFrom('idempotency_records')
    .select(['key_id', 'idempotency_key', 'body'])
    .where('subject_ref', '=', subjectRef)
    .execute()
  for (const { key_id, idempotency_key, body } of records) {
    await trx
      .updateTable('idempotency_records')
      .set({ body: erase(body) })
      .where('key_id', '=', key_id)
      .where('idempotency_key', '=', idempotency_key)
      .execute()
  }
}

async function find(trx: Db, attempt: Attempt, fingerprint: string): Promise<OperationResult | undefined> {
  const record = await trx
    .selectFrom('idempotency_records')
    .selectAll()
    .where('key_id', '=', attempt.principal.keyId)
    .where('idempotency_key', '=', attempt.key)
    .where('created_at', '>', attempt.now - retentionMs)
    .executeTakeFirst()
  if (!record) return undefined
  if (record.fingerprint !== fingerprint) throw new ApiError('idempotency_key_reused')
  const headers = { ...JSON.parse(record.headers), 'Idempotent-Replayed': 'true' }
  const json = attempt.isSecret ? decrypt(record.body, attempt) : record.body
  return json === '' ? { status: record.status, headers } : { status: record.status, headers, json }
}

async function store(trx: Db, attempt: Attempt, fingerprint: string, result: OperationResult): Promise<void> {
  const json = result.json ?? ''
  const values = {
    key_id: attempt.principal.keyId,
    idempotency_key: attempt.key,
    fingerprint,
    status: result.status,
    headers: JSON.stringify(result.headers ?? {}),
    body: attempt.isSecret ? encrypt(json, attempt) : json,
    created_at: attempt.now,
    subject_ref: result.subjectRef ?? null,
  }
  await trx
    .insertInto('idempotency_records')
    .values(values)
    .onConflict((conflict) => conflict.columns(['key_id', 'idempotency_key']).doUpdateSet(values))
    .execute()
}

/** Identifies the request. If the response contains a secret, the caller's API key is part of it: only its owner can replay it. */
function fingerprintOf({ method, path, bytes, isSecret, principal }: Attempt): string {
  const hash = createHash('sha256').update(`${method} ${path}\n`).update(bytes)
  if (isSecret) hash.update(`\n${principal.token}`)
  return hash.digest('base64url')
}

const cipher = 'aes-256-gcm'
const nonceBytes = 12
const tagBytes = 16
const cipherKey = ({ principal, key }: Attempt) =>
  Buffer.from(hkdfSync('sha256', principal.token, key, 'petstore idempotency record', 32))

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
