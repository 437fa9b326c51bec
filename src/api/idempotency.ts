import { createCipheriv, createDecipheriv, createHash, hkdfSync, randomBytes } from 'node:crypto'
import { type Database, LockTimeoutError, type WriteOptions } from '../database/database.ts'
import type { Trx } from '../database/db.ts'
import { ApiError, apiErrors, toApiError, validationFailed } from './errors.ts'
import { type OperationResult, type Principal, type RecordKey, respond } from './operation.ts'

export const recordRetentionMs = 24 * 60 * 60 * 1000
const pruneRowsMax = 1_000

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
type IdentifiedAttempt = Attempt & { readonly fingerprint: string }

type Run = (trx: Trx) => Promise<OperationResult>

export type RecordedWrite = {
  readonly options?: WriteOptions
  /** Slow work before the transaction. If it fails, `run` rejects with its error. */
  readonly prepare?: (() => Promise<unknown>) | undefined
  readonly run: Run
  /** Runs the request and stores its record. Resolves to undefined if there is a record, or if another instance runs it. */
  readonly runBatched?: ((record: RecordKey | undefined) => Promise<OperationResult | undefined>) | undefined
}

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

  async once(request: Attempt, write: RecordedWrite): Promise<OperationResult> {
    const { key, principal } = request
    const slot = `${principal.keyId} ${key}`
    const fingerprint = fingerprintOf(request)
    const attempt = { ...request, fingerprint }
    const running = this.#running.get(slot)
    if (running === fingerprint) throw new ApiError(apiErrors.idempotency_in_progress)
    if (running !== undefined) throw new ApiError(apiErrors.idempotency_key_reused)
    this.#running.set(slot, fingerprint)
    try {
      let result = await write.runBatched?.({ keyId: principal.keyId, key, fingerprint })
      if (write.prepare) {
        // A replayed request is not prepared again. Another instance may prepare the same request: one of the two writes.
        result = await this.#database.writeUnlogged((trx) => find(trx, attempt))
        // The transaction rejects with its error, and stores that.
        if (!result) await write.prepare().catch(() => {})
      }
      return result ?? (await this.#runOrReplay(attempt, write))
    } finally {
      this.#running.delete(slot)
    }
  }

  async #runOrReplay(attempt: IdentifiedAttempt, { run, options }: RecordedWrite): Promise<OperationResult> {
    try {
      return await this.#database.write((trx) => runOnce(trx, attempt, run), options)
    } catch (thrown) {
      const error = toApiError(thrown)
      const isUnstored = error.code === 'idempotency_key_reused' || error.code === 'idempotency_in_progress'
      if (error.status >= 500 || isUnstored) throw thrown
      // The transaction was rolled back, so the error is stored in another one. Another instance may have served the same
      // request in between.
      const result = respond(error.status, error.body, error.headers)
      return this.#database.write((trx) => runOnce(trx, attempt, async () => result))
    }
  }
}

/** Other instances with the same request wait for the lock, and then find the stored response. */
async function runOnce(trx: Trx, attempt: IdentifiedAttempt, run: Run): Promise<OperationResult> {
  const lock = trx.lockName(`idempotency ${attempt.principal.keyId} ${attempt.key}`)
  const [, stored] = await Promise.all([lock, find(trx, attempt)]).catch((error: unknown) => {
    throw error instanceof LockTimeoutError ? new ApiError(apiErrors.idempotency_in_progress) : error
  })
  if (stored) return stored
  const result = await run(trx)
  await store(trx, attempt, result)
  return result
}

/** Deletes a bounded number of records past their retention. Returns how many. */
export async function pruneIdempotencyRecords(trx: Trx, now: number): Promise<number> {
  const expiredAt = now - recordRetentionMs
  const old = trx
    .selectFrom('idempotency_records')
    .select(['key_id', 'idempotency_key'])
    .where('created_at', '<=', expiredAt)
    .limit(pruneRowsMax)
  const { numDeletedRows } = await trx
    .deleteFrom('idempotency_records')
    .where((eb) =>
      eb(eb.refTuple('key_id', 'idempotency_key'), 'in', old.$asTuple('key_id', 'idempotency_key')),
    )
    // Checked again on the row itself: a concurrent request may have replaced the record.
    .where('created_at', '<=', expiredAt)
    .executeTakeFirst()
  return Number(numDeletedRows)
}

/** Erases data from stored responses. The records stay, because a retry must still find them. */
export async function eraseFromIdempotencyRecords(
  trx: Trx,
  subjectRef: string,
  erase: (json: string) => string,
): Promise<void> {
  const records = await trx
    .selectFrom('idempotency_records')
    .select(['key_id', 'idempotency_key', 'body'])
    .where('subject_ref', '=', subjectRef)
    .forUpdate()
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

async function find(trx: Trx, attempt: IdentifiedAttempt): Promise<OperationResult | undefined> {
  const record = await trx
    .selectFrom('idempotency_records')
    .selectAll()
    .where('key_id', '=', attempt.principal.keyId)
    .where('idempotency_key', '=', attempt.key)
    .where('created_at', '>', attempt.now - recordRetentionMs)
    .executeTakeFirst()
  if (!record) return undefined
  if (record.fingerprint !== attempt.fingerprint) throw new ApiError(apiErrors.idempotency_key_reused)
  const headers = { ...JSON.parse(record.headers), 'Idempotent-Replayed': 'true' }
  const json = attempt.isSecret ? decrypt(record.body, attempt) : record.body
  return json === '' ? { status: record.status, headers } : { status: record.status, headers, json }
}

async function store(trx: Trx, attempt: IdentifiedAttempt, result: OperationResult): Promise<void> {
  const json = result.json ?? ''
  const values = {
    key_id: attempt.principal.keyId,
    idempotency_key: attempt.key,
    fingerprint: attempt.fingerprint,
    status: result.status,
    headers: JSON.stringify(result.headers ?? {}),
    body: attempt.isSecret ? encrypt(json, attempt) : json,
    created_at: attempt.now,
    subject_ref: result.subjectRef ?? null,
  }
  await trx.send(
    trx
      .insertInto('idempotency_records')
      .values(values)
      .onConflict((conflict) => conflict.columns(['key_id', 'idempotency_key']).doUpdateSet(values)),
  )
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
