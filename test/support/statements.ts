import { DatabaseSync } from 'node:sqlite'
import type { TestContext } from 'node:test'
import pg from 'pg'

/** The texts of the statements that this process prepares in SQLite and sends to PostgreSQL, until the test ends. */
export function recordStatements(t: TestContext): Set<string> {
  const texts = new Set<string>()
  const { prepare } = DatabaseSync.prototype
  t.mock.method(DatabaseSync.prototype, 'prepare', function (this: DatabaseSync, text: string) {
    texts.add(text)
    return prepare.call(this, text)
  })
  const { query } = pg.Client.prototype
  t.mock.method(pg.Client.prototype, 'query', function (this: pg.Client, ...args: unknown[]) {
    const [first] = args as [string | { text: string }]
    texts.add(typeof first === 'string' ? first : first.text)
    return query.apply(this, args as never)
  })
  return texts
}
