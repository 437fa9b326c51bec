import { randomUUID } from 'node:crypto'
import type { Kysely } from 'kysely'
import type { Database } from './database.ts'
import type { Tables } from './tables.ts'

/** What a store knows of itself. */

type MetadataName = 'environment' | 'identity'

export async function readMetadata(db: Kysely<Tables>, name: MetadataName): Promise<string | undefined> {
  const row = await db.selectFrom('store_facts').select('value').where('name', '=', name).executeTakeFirst()
  return row?.value
}

async function writeMetadata(trx: Kysely<Tables>, name: MetadataName, value: string): Promise<void> {
  await trx
    .insertInto('store_facts')
    .values({ name, value })
    .onConflict((conflict) => conflict.column('name').doUpdateSet({ value }))
    .execute()
}

/** A store is of one environment for good: the keys of one are nothing to the other. */
export async function claimEnvironment(database: Database, environment: string): Promise<void> {
  if (isOf(environment, await readMetadata(database.read, 'environment'))) return
  await database.write(async (trx) => {
    // Asked again, for another process may have claimed it meanwhile.
    if (!isOf(environment, await readMetadata(trx, 'environment')))
      await writeMetadata(trx, 'environment', environment)
  })
}

function isOf(environment: string, known: string | undefined): boolean {
  if (known === undefined || known === environment) return known !== undefined
  throw new Error(
    `The store is one of ${known}, but PETSTORE_ENV says ${environment}: give each environment a store of its own.`,
  )
}

/** Marks a store as another one than before, so that whoever has it open notices that it was replaced. */
export const renewIdentity = (database: Database): Promise<void> =>
  database.write((trx) => writeMetadata(trx, 'identity', randomUUID()))
