import type { ComponentChildren } from 'preact'
import type { RequestError } from '../app/errors.ts'
import { ErrorNotice } from './ErrorNotice.tsx'

type FormErrorProps = {
  error: RequestError | undefined
  /** The paths of the fields that show their own errors. */
  fields: readonly string[]
  /** What the error means here, if it is not what the API says. */
  children?: ComponentChildren
}

/** What an error says that no field of the form shows. */
export function FormError({ error, fields, children }: FormErrorProps) {
  if (!error) return null
  const others = error.detailsBeside(fields)
  if (error.details.length > 0 && others.length === 0) return null
  return (
    <ErrorNotice error={error}>
      {children ?? error.messageWithoutDelay}
      {others.map((text) => (
        <p key={text}>{text}</p>
      ))}
    </ErrorNotice>
  )
}
