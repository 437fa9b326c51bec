import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { byResource, describeCounts } from '../../src/commands/counts.ts'
import { noCounts } from '../../src/records/resource.ts'
import { type DatabaseEnv, databaseFor, type NewDatabaseOptions } from './engine.ts'
import { type ProcessResult, runPetstore } from './process.ts'
import { type Server, serverFor } from './servers.ts'

/** The documented bound for a change of a key to reach every instance. */
export const keyChangeMs = 2_000

export const int64Min = '-9223372036854775808'
export const int64Max = '9223372036854775807'

/** Commands on one database. All but `run` fail the test unless the command succeeds. */
export function cliOn(env: DatabaseEnv, more: Record<string, string> = {}) {
  const run = (args: string[], input = '') => runPetstore(args, { ...env, ...more }, input)
  const ok = async (args: string[], input = ''): Promise<string> => {
    const { code, stdout, stderr } = await run(args, input)
    // These may find no database, and then say that they create it.
    const mayCreate = ['migrate', 'seed', 'import', 'restore'].includes(args[0] ?? '')
    const messages = mayCreate ? stderr.replace(/^Creating the database .*\/petstore\.db\.\n/, '') : stderr
    assert.deepEqual({ code, stderr: messages }, { code: 0, stderr: '' }, args.join(' '))
    return stdout
  }
  const json = async (args: string[], input = '') => oneLine(await ok([...args, '--json'], input))
  return { env, dataDir: env.PETSTORE_DATA_DIR, run, ok, json, export: () => ok(['export']) }
}

/** Commands on a fresh database. */
export const cliOnNewDatabase = async (
  t: Pick<TestContext, 'after'>,
  more: Record<string, string> = {},
  options?: NewDatabaseOptions,
) => cliOn(await databaseFor(t, options), more)

/** An export without the times of animals, which depend on when the test runs. */
export const withoutTimes = (text: string): string =>
  text.replaceAll(/(?:,"createdAt":\d+)?(?:,"updatedAt":\d+)?(?:,"adoptedOn":"[^"]*")?(?=\}\n)/g, '')

/** The animals of an export, without their times. */
// biome-ignore lint/suspicious/noExplicitAny: a test looks into records of every shape.
export const petsIn = async (cli: { export(): Promise<string> }): Promise<any[]> =>
  lines(withoutTimes(await cli.export()))
    .filter((line) => line.includes('"type":"pet"'))
    .map((line) => JSON.parse(line))

/** The result of an import that has added every record of its file. */
export function importOfNew(counts: Counts) {
  const all = countsOf(counts)
  return { ...all, changes: byResource(({ countName }) => ({ ...noCounts(), added: all[countName] ?? 0 })) }
}

type Counts = Readonly<Record<string, number>>

/** The numbers of all resources: those that are given, 0 for the others. */
export const countsOf = (counts: Counts): Counts => ({ ...byResource(() => 0), ...counts })

/** The same for people. */
export const countsText = (counts: Counts): string => describeCounts(countsOf(counts))

export function oneLine(text: string) {
  assert.match(text, /^[^\n]+\n$/, 'one line')
  return JSON.parse(text)
}

export const lines = (text: string): string[] => text.split('\n').filter((line) => line !== '')

export function assertCommandFails({ code, stdout, stderr }: ProcessResult, status: number, message: RegExp) {
  assert.equal(code, status, stderr)
  assert.equal(stdout, '')
  assert.match(stderr, message)
  assert.doesNotMatch(stderr, /\n {4}at /, 'no stack')
}

/** A running server with data that an export could lose. */
export async function eventfulServer(t: Pick<TestContext, 'after'>): Promise<Server> {
  const server = await serverFor(t)
  await addEventfulData(server)
  return server
}

/** Adds data that an export could lose: extreme ids, gaps, unusual characters, orders. */
export async function addEventfulData(server: Pick<Server, 'request' | 'operatorKey'>): Promise<void> {
  const add = async (body: string) => {
    const { status, text } = await server.request('POST', '/v1/pets', {
      key: server.operatorKey,
      body,
      headers: { 'content-type': 'application/json' },
    })
    assert.equal(status, 201, text)
  }
  await add(`{"name":"Least","categoryId":${int64Min}}`)
  await add(`{"name":"Greatest","categoryId":${int64Max},"status":"sold"}`)
  await add(`{"name":"gone in the middle","categoryId":1}`)
  await add(
    `{"name":"Łuna \\"the\\" 🐾 \\n\\u2028\\u2029\\u0085 end","categoryId":9007199254740993,"status":"pending"}`,
  )
  for (const name of ['gone', 'gone', 'gone']) await add(`{"name":"${name} at the end","categoryId":2}`)
  const ordered = await server.request('POST', '/v1/store/orders', {
    key: server.operatorKey,
    body: { petId: 1, customer: { name: 'Zoë', email: 'zoe@example.org' }, note: 'has a garden' },
  })
  assert.equal(ordered.status, 201, ordered.text)
  for (const id of [3, 5, 6, 7]) {
    const { status } = await server.request('DELETE', `/v1/pets/${id}`, { key: server.operatorKey })
    assert.equal(status, 204)
  }
}

/** An import writes events like other changes: the id of the last event may go up, never down. */
export function assertSameExport(actual: string, expected: string) {
  const lastEventId = /"lastEventId":(\d+)/
  assert.equal(actual.replace(lastEventId, ''), expected.replace(lastEventId, ''))
  assert.ok(Number(lastEventId.exec(actual)?.[1]) >= Number(lastEventId.exec(expected)?.[1]))
}
