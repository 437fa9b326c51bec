import { DummyDriver } from 'kysely'

/** The base of both drivers. The writers control transactions, so Kysely must not. */
export class ExternalTransactionDriver extends DummyDriver {
  override async beginTransaction(): Promise<void> {
    throw new Error('Use Database.write for transactions.')
  }
}

/** For what Kysely could do and the service does not need. */
export function notSupported(): never {
  throw new Error('This is not supported.')
}

/** Whether a rollback has nothing to undo after a statement. No function in a SELECT of the service has such changes. */
export const isReadOnlyStatement = (statement: string): boolean => /^\s*select\b/i.test(statement)
