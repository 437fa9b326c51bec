/** What PostgreSQL, or the way to it, says when something is wrong. */

const codeOf = (error: unknown): string => {
  const { code } = (error ?? {}) as { code?: unknown }
  return typeof code === 'string' ? code : ''
}

/** SQLSTATE has five characters, digits among them; codes of the system, such as EPIPE, have none. */
const isSqlState = (code: string): boolean => /^(?=.*\d)[0-9A-Z]{5}$/.test(code)

/**
 * Classes and codes that blame the server and not the statement: connection, resources, limits of time, shutting down,
 * read-only since a failover, an idle transaction that was ended, authentication that no longer holds.
 */
const outOfOrder =
  /^(?:08...|53...|57014|57P0[1-5]|58...|25006|25P0[34]|55P03|28...|3D000|XX...|40001|40P01)$/

/** The server or the way to it is at fault, not the statement; the connection is not to be used again. */
export function isOutOfOrder(error: unknown): boolean {
  const code = codeOf(error)
  // Without a code it is the driver that speaks: of a connection that ended, or of an answer that did not come.
  return isSqlState(code) ? outOfOrder.test(code) : error instanceof Error && !(error instanceof TypeError)
}

/** A prepared statement that was made for the schema as it was before a migration. */
export const isStalePlan = (error: unknown): boolean =>
  codeOf(error) === '0A000' && /cached plan/.test((error as Error).message)

/** Two transactions stood in each other's way, and this one had to yield. */
export const isConflict = (error: unknown): boolean => /^40(?:001|P01)$/.test(codeOf(error))

/** The server was made a standby, or its role may only read: this session will not write any more. */
export const isReadOnly = (error: unknown): boolean => codeOf(error) === '25006'

/** The server, or the role, has no connection left to give. */
export const isCrowded = (error: unknown): boolean => codeOf(error) === '53300'

/** Whether the server itself has said that it did not do what it was asked to. */
export const isRefusal = (error: unknown): boolean => {
  const code = codeOf(error)
  return isSqlState(code) && !/^(?:08|57P)/.test(code)
}

/** Nobody is let in: a wrong password, an unknown database, a name that leads nowhere. */
export const isFinal = (error: unknown): boolean =>
  /^(?:28...|3D000|ENOTFOUND|EAI_AGAIN)$/.test(codeOf(error))

/** For an operator who tries to start the service. */
export function explain(error: unknown): string {
  const { cause, message } = error as Error
  const root = cause instanceof Error ? cause : (error as Error)
  const inner = (root as { errors?: unknown[] }).errors?.[0]
  return root.message || (inner instanceof Error ? inner.message : message)
}
