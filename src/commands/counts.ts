import { type ImportCounts, noCounts, type Resource } from '../records/resource.ts'
import { countedResources } from '../resources.ts'
import { counted } from './cli.ts'

/** A value for each resource, by the name of its numbers. */
export const byResource = <T>(toValue: (resource: Resource) => T): Record<string, T> =>
  Object.fromEntries(countedResources.map((resource) => [resource.countName, toValue(resource)]))

/** The tables whose rows are counted. */
export const countedTables = byResource(({ table }) => table)

/** The numbers of records, for people. */
export const describeCounts = (counts: Readonly<Record<string, number>>): string =>
  listOf(countedResources.map(({ countName, nouns }) => counted(counts[countName] ?? 0, ...nouns)))

export const totalOf = ({ added, changed, unchanged }: ImportCounts = noCounts()): number =>
  added + changed + unchanged

/** `one, two and three`. */
export const listOf = (texts: readonly string[], conjunction = 'and'): string =>
  `${texts.slice(0, -1).join(', ')} ${conjunction} ${texts.at(-1)}`
