import { pino, type SerializedError } from 'pino'

/** Not `detail`, `where` and others, in which PostgreSQL reports values of the row, such as a customer's name. */
const loggedFields = [
  'code',
  'errcode',
  'errno',
  'syscall',
  'severity',
  'table',
  'column',
  'constraint',
  'routine',
]
const causesMax = 10
/** The SQLSTATE class "data exception", whose messages quote the value. */
const dataException = /^22[0-9A-Z]{3}$/

/** An error as the log has it: without values of rows, which can be secret or personal. */
export const loggedError = (error: unknown): unknown =>
  error instanceof Error ? described(error, pino.stdSerializers.err(error)) : error

/** The message and the stack of `serialized` also have those of the causes. */
function described(error: Error, serialized: SerializedError): Record<string, unknown> {
  const { type, message, stack } = serialized
  const fields = loggedFields.flatMap((name) =>
    serialized[name] === undefined ? [] : [[name, serialized[name]] as const],
  )
  const errors: unknown = (error as { errors?: unknown }).errors
  return {
    type,
    message: withoutValues(message, error),
    stack: withoutValues(stack, error),
    ...Object.fromEntries(fields),
    ...(Array.isArray(errors) && { aggregateErrors: errors.map(loggedError) }),
  }
}

function withoutValues(text: string, error: unknown, depth = 0): string {
  if (!(error instanceof Error) || depth === causesMax) return text
  const { message, cause, code } = error as Error & { code?: unknown }
  const isQuoting = typeof code === 'string' && dataException.test(code)
  const shown = isQuoting ? text.replaceAll(message, message.replace(/".*"/s, '"(value)"')) : text
  return withoutValues(shown, cause, depth + 1)
}
