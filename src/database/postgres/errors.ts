const codeOf = (error: unknown): string => {
  const { code } = (error ?? {}) as { code?: unknown }
  return typeof code === 'string' ? code : ''
}

/** A SQLSTATE has five characters with at least one digit. System error codes, such as EPIPE, have no digits. */
const isSqlState = (code: string): boolean => /^(?=.*\d)[0-9A-Z]{5}$/.test(code)

/**
 * Classes and codes of errors that the statement did not cause: connection, resources, timeouts, shutdown, read-only
 * after a failover, an idle transaction that was ended, authentication, serialization and deadlock.
 */
const unavailable =
  /^(?:08...|53...|57014|57P0[1-5]|58...|25006|25P0[34]|55P03|28...|3D000|XX...|40001|40P01)$/

/** The server or the network is at fault, not the statement. The connection must not be used again. */
export function isUnavailable(error: unknown): boolean {
  const code = codeOf(error)
  // Errors of the driver have no SQLSTATE: the connection ended, or the response timed out.
  return isSqlState(code) ? unavailable.test(code) : error instanceof Error && !(error instanceof TypeError)
}

/** A migration changed the schema that a prepared statement depends on. */
export const isStalePlan = (error: unknown): boolean =>
  codeOf(error) === '0A000' && /cached plan/.test((error as Error).message)

/**
 * A second attempt of the transaction may succeed: a deadlock, a serialization failure, a category that was deleted
 * before the pet could refer to it, a row that another transaction inserted first, or a stale prepared statement.
 */
export function isRetryable(error: unknown): boolean {
  const { cause } = (error ?? {}) as { cause?: unknown }
  return /^(?:40001|40P01|23503|23505)$/.test(codeOf(cause ?? error)) || isStalePlan(cause ?? error)
}

/** Another transaction held a lock for longer than lock_timeout. */
export const isLockTimeout = (error: unknown): boolean => codeOf(error) === '55P03'

/** An earlier statement of the transaction has failed. Its error is the cause. */
export const isInFailedTransaction = (error: unknown): boolean => codeOf(error) === '25P02'

/** The server became a standby, or the role lost its write permission. */
export const isReadOnly = (error: unknown): boolean => codeOf(error) === '25006'

/** The server or the role has reached its connection limit. */
export const isTooManyConnections = (error: unknown): boolean => codeOf(error) === '53300'

/** Whether the server has confirmed that it did not execute the statement. */
export const isNotExecuted = (error: unknown): boolean => {
  const code = codeOf(error)
  return isSqlState(code) && !/^(?:08|57P)/.test(code)
}

/** A wrong password, an unknown database or an unknown host. A retry does not help. */
export const isConfigurationError = (error: unknown): boolean =>
  /^(?:28...|3D000|ENOTFOUND|EAI_AGAIN)$/.test(codeOf(error))

/** The message of the underlying error. */
export function rootCauseMessage(error: unknown): string {
  const { cause, message } = error as Error
  const root = cause instanceof Error ? cause : (error as Error)
  const inner = (root as { errors?: unknown[] }).errors?.[0]
  return root.message || (inner instanceof Error ? inner.message : message)
}
