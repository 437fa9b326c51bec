import { randomUUID } from 'node:crypto'
import type { Database } from './database.ts'
import type { Db, Trx } from './db.ts'

export async function readMetadata(db: Db, name: string): Promise<string | undefined> {
  const row = await db.selectFrom('metadata').select('value').where('name', '=', name).executeTakeFirst()
  return row?.value
}

export async function writeMetadata(trx: Trx, name: string, value: string): Promise<void> {
  await trx
    .insertInto('metadata')
    .values({ name, value })
    .onConflict((conflict) => conflict.column('name').doUpdateSet({ value }))
    .execute()
}

export const listMetadata = (db: Db, prefix: string): Promise<{ name: string; value: string }[]> =>
  db.selectFrom('metadata').select(['name', 'value']).where('name', 'like', `${prefix}%`).execute()

export async function deleteMetadata(trx: Trx, name: string): Promise<void> {
  await trx.deleteFrom('metadata').where('name', '=', name).execute()
}

/** A database belongs to one environment permanently, because its keys are valid in that environment only. */
export async function claimEnvironment(database: Database, environment: string): Promise<void> {
  if (isClaimed(environment, await readMetadata(database.read, 'environment'))) return
  await database.write(async (trx) => {
    await trx.lockName('environment')
    // Another process may have claimed it since the first check.
    if (!isClaimed(environment, await readMetadata(trx, 'environment')))
      await writeMetadata(trx, 'environment', environment)
  })
}

function isClaimed(environment: string, owner: string | undefined): boolean {
  if (owner === undefined || owner === environment) return owner !== undefined
  throw new Error(
    `This database belongs to the ${owner} environment, but PETSTORE_ENV is ${environment}. Use a separate database for each environment.`,
  )
}

/** Changes the identity of a database, which tells processes that have it open that it was replaced. */
export const renewIdentity = (database: Database): Promise<void> =>
  database.write((trx) => writeMetadata(trx, 'identity', randomUUID()))
