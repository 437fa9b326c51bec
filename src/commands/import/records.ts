import * as z from 'zod'
import { integer } from '../../api/validation.ts'
import type { Trx } from '../../database/db.ts'
import { type AnimalRecord, applyAnimals, previewAnimals } from '../../imports/applyAnimals.ts'
import type { Problem } from '../../imports/csv/problem.ts'
import type { CsvOptions } from '../../imports/csvFile.ts'
import { petOrders } from '../../orders/queries.ts'
import { countChanges, idMax, noCounts, type Resource, type ResourceRecord } from '../../records/resource.ts'
import { counters, defaultResource, resourceOf } from '../../resources.ts'

export const formatVersion = 1

export const headerType = 'petstore'
const headerSchema = z.object({
  type: z.literal(headerType),
  format: integer(formatVersion, formatVersion),
  ...Object.fromEntries(counters.map(({ name }) => [name, integer(0, idMax).optional()])),
})

/** What the reader and the writer of a file need of a resource. */
export type RecordKind = Pick<Resource, 'batchMax' | 'apply'> &
  Partial<Pick<Resource, 'schema' | 'findChanges' | 'identitiesOf' | 'stateOf'>> & {
    readonly type: string
    /** Its records are counted with those of this resource. */
    readonly countsAs?: Resource
  }

/** The first line of an export continues the counters of the other database. */
const header: RecordKind = {
  type: headerType,
  schema: headerSchema,
  batchMax: 1,
  async apply(trx: Trx, [record]: readonly ResourceRecord[]) {
    const values = record as Readonly<Record<string, number | undefined>>
    for (const { name, reserve } of counters) await reserve(trx, values[name] ?? 0)
    return noCounts()
  },
}

const animalType = 'animal'

/** A line of CSV: a pet with its profile. It has no schema, because NDJSON has no such records. */
const animal: RecordKind = {
  type: defaultResource.type,
  batchMax: 100,
  apply: async (trx, records, now) =>
    countChanges(
      await applyAnimals(trx, records as readonly ResourceRecord[] as AnimalRecord[], now, petOrders),
    ),
  findChanges: async (db, records) => {
    const animals = await previewAnimals(db, records as readonly ResourceRecord[] as AnimalRecord[])
    return animals.map(({ change }) => change)
  },
  identitiesOf: (record) => defaultResource.identitiesOf?.((record as AnimalRecord).pet) ?? [],
  countsAs: defaultResource,
}

/** Undefined for an unknown type. */
export const kindOf = (type: unknown): RecordKind | undefined =>
  type === headerType ? header : type === animalType ? animal : resourceOf(type)

export type ReadOptions = {
  readonly format: 'csv' | 'ndjson'
  /** Keys and counters are rejected without it. */
  readonly withKeys: boolean
  /** Fields by the headers of a CSV file. */
  readonly map: ReadonlyMap<string, string>
  /** The column or field with the external id. */
  readonly externalId: string | undefined
  readonly csv?: CsvReadOptions | undefined
}

/** How the values of a CSV file are read. */
export type CsvReadOptions = Pick<CsvOptions, 'from' | 'dateOrder' | 'currency' | 'createCategories'> & {
  /** Photos are imported too. */
  readonly hasPhotos: boolean
}

/** Some records of a file, with the line of each, and the wrong lines among them. */
export type Batch = {
  readonly records: ResourceRecord[]
  readonly lines: number[]
  readonly problems: Problem[]
  readonly bytes: number
}
