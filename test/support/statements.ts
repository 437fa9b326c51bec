import { DatabaseSync } from 'node:sqlite'
import type { TestContext } from 'node:test'
import type { CompiledQuery } from 'kysely'
import pg from 'pg'
import type { Db } from '../../src/database/db.ts'

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

/** The same query builder. It calls back with every query before it runs, prepared ones included. */
export function withQueryListener<D extends Db>(db: D, listener: (query: CompiledQuery) => void): D {
  const listening = db.withPlugin({
    transformQuery({ node, queryId }) {
      listener(db.getExecutor().compileQuery(node, queryId))
      return node
    },
    transformResult: async ({ result }) => result,
  })
  const runCompiled: Db['runCompiled'] = (query, parameters) => {
    listener({ ...query, parameters })
    return db.runCompiled(query, parameters)
  }
  return new Proxy(db, {
    get(target, name) {
      if (name === 'runCompiled') return runCompiled
      const owner = name in listening ? listening : target
      const value = Reflect.get(owner, name, owner)
      return typeof value === 'function' ? value.bind(owner) : value
    },
  })
}
