import { statSync } from 'node:fs'
import { importFields, parseMapping } from '../../imports/fields.ts'
import type { PresetName } from '../../imports/presetNames.ts'
import type { DateOrder } from '../../imports/values/dates.ts'
import { parseCurrency } from '../../imports/values/fee.ts'
import { UsageError } from '../cli.ts'
import type { ReadOptions } from './records.ts'

/** The options of the command line. */
export type ImportOptions = {
  readonly format?: 'csv' | 'ndjson'
  readonly from?: PresetName
  readonly map?: readonly string[]
  readonly externalId?: string
  readonly dateOrder?: DateOrder
  readonly currency?: string
  readonly createCategories?: boolean
  readonly missing?: 'keep' | 'unlist'
  readonly force?: boolean
  readonly photos?: boolean
  readonly photosFrom?: string
  readonly dryRun?: boolean
  readonly skipBad?: boolean
  readonly report?: string
  readonly withKeys?: boolean
}

const csvOnly = {
  map: '--map',
  from: '--from',
  dateOrder: '--date-order',
  currency: '--currency',
  createCategories: '--create-categories',
  missing: '--missing',
  photos: '--photos',
  photosFrom: '--photos-from',
} as const

/** How the file is read. Throws a `UsageError`. */
export function readOptions(options: ImportOptions, file = ''): ReadOptions {
  const { format, from, map = [], externalId, withKeys = false, photosFrom } = options
  const detected = format ?? (/\.(?:csv|tsv)$/i.test(file) || from !== undefined ? 'csv' : 'ndjson')
  if (detected === 'ndjson') {
    const wrong = Object.entries(csvOnly).find(
      ([name]) => options[name as keyof typeof csvOnly] !== undefined,
    )
    if (wrong) throw new UsageError(`${wrong[1]} is for CSV only.`)
    return { format: detected, withKeys, map: new Map(), externalId }
  }
  if (photosFrom !== undefined && !statSync(photosFrom, { throwIfNoEntry: false })?.isDirectory())
    throw new UsageError(`--photos-from must be a folder, but is "${photosFrom}".`)
  const csv = {
    from,
    dateOrder: options.dateOrder,
    currency: readCurrency(options.currency),
    createCategories: options.createCategories ?? false,
    hasPhotos: options.photos === true || photosFrom !== undefined,
  }
  return { format: detected, withKeys, map: new Map(map.map(readMapping)), externalId, csv }
}

function readMapping(entry: string): [heading: string, field: string] {
  const mapping = parseMapping(entry)
  if (mapping) return mapping
  throw new UsageError(
    `--map must be HEADER=FIELD with one of the fields ${importFields.join(', ')}, or HEADER= to ignore the column, but is "${entry}".`,
  )
}

function readCurrency(text: string | undefined): string | undefined {
  const currency = text === undefined ? undefined : parseCurrency(text)
  if (text !== undefined && currency === undefined)
    throw new UsageError(`--currency must be a code of ISO 4217 such as EUR, but is "${text}".`)
  return currency
}
