/** What an import does with a record. */
export type Change = 'added' | 'changed' | 'unchanged'

export type ChangeCounts = Record<Change, number>

/** By the type of the record. */
export type Changes = Record<'pets' | 'categories' | 'orders' | 'keys', ChangeCounts>

export const noCounts = (): ChangeCounts => ({ added: 0, changed: 0, unchanged: 0 })

export const noChanges = (): Changes => ({
  pets: noCounts(),
  categories: noCounts(),
  orders: noCounts(),
  keys: noCounts(),
})

export function addCounts(total: ChangeCounts, counts: ChangeCounts): void {
  for (const change of ['added', 'changed', 'unchanged'] as const) total[change] += counts[change]
}

export function addChanges(total: Changes, changes: Changes): void {
  for (const type of ['pets', 'categories', 'orders', 'keys'] as const) addCounts(total[type], changes[type])
}

/** The counts of all types together, for people. */
export function describeChanges(changes: Changes): string {
  const total = noCounts()
  for (const counts of Object.values(changes)) addCounts(total, counts)
  return `${total.added} added, ${total.changed} changed, ${total.unchanged} unchanged`
}
