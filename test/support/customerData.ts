import { type DatabaseEnv, databaseText } from './engine.ts'
import { eventually } from './eventually.ts'

let persons = 0
/** A customer whose data is unique, so that a test can search for it. */
export function uniqueCustomer(noteLength = 20) {
  const mark = `person-${++persons}-of-the-test`
  const customer = { name: `Name ${mark}`, email: `${mark}@example.com` }
  const note = `note-${mark} `.padEnd(noteLength, 'x')
  return { customer, note, traces: [customer.name, customer.email, `note-${mark}`] }
}

/** The data of a customer that is still in the database. */
export async function remainingTraces({ traces }: { traces: string[] }, env: DatabaseEnv): Promise<string[]> {
  const stored = await databaseText(env)
  return traces.filter((trace) => stored.includes(trace))
}

export const allTracesDisappear = (person: { traces: string[] }, env: DatabaseEnv) =>
  eventually('all traces are gone', async () => (await remainingTraces(person, env)).length === 0)
