/** What an import does with a record. */
export type RecordChange = 'added' | 'changed' | 'unchanged'

export type ChangeCounts = Record<RecordChange, number>

/** By the type of the record. */
export type ImportChanges = Record<'pets' | 'categories' | 'orders' | 'keys', ChangeCounts>

export const noChangeCounts = (): ChangeCounts => ({ added: 0, changed: 0, unchanged: 0 })

export const noChanges = (): ImportChanges => ({
  pets: noChangeCounts(),
  categories: noChangeCounts(),
  orders: noChangeCounts(),
  keys: noChangeCounts(),
})

export function addChangeCounts(total: ChangeCounts, counts: ChangeCounts): void {
  for (const change of ['added', 'changed', 'unchanged'] as const) total[change] += counts[change]
}

export function addChanges(total: ImportChanges, changes: ImportChanges): void {
  for (const type of ['pets', 'categories', 'orders', 'keys'] as const)
    addChangeCounts(total[type], changes[type])
}

/** The counts of all types together, for people. */
export function describeChanges(changes: ImportChanges): string {
  const total = noChangeCounts()
  for (const counts of Object.values(changes)) addChangeCounts(total, counts)
  return `${total.added} added, ${total.changed} changed, ${total.unchanged} unchanged`
}
