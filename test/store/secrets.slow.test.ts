/**
 * Where secrets and personal data can be found after a run with errors: see docs/threat-model.md. The service runs in a
 * process of its own, and logs everything.
 */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import type { RequestOptions } from '../support/client.ts'
import { type DatabaseEnv, databaseText, engine, inDatabase } from '../support/engine.ts'
import { eventually } from '../support/eventually.ts'
import { importCalls } from '../support/imports.ts'
import { adminKey } from '../support/instances.ts'
import { runPetstore } from '../support/process.ts'
import { textsInMemory } from '../support/processMemory.ts'
import { assertNoSecrets, type Secrets, secretsIn } from '../support/secretSearch.ts'
import { folderFor, type Server, SuiteCleanup, serverFor, stopped } from '../support/servers.ts'
import { loopbackAllowed, startWebhookReceiver } from '../support/webhookReceiver.ts'

const customer = { name: 'Ada Searched-For', email: 'ada.searched@example.org' }
const personal: Secrets = {
  "a customer's name": customer.name,
  "a customer's email address": customer.email,
  'the note of an order': 'The note that is searched for',
  'the location of an animal': 'At the foster home that is searched for',
  'the notes of staff': 'A staff note that is searched for',
  'the location in an imported file': 'At the imported foster home',
}
/** The adoption page shows it to everyone. */
const contact: Secrets = { 'the telephone number of the store': '+1 555 010 7723' }
/** In a column of a file that is never imported. */
const adopter: Secrets = { 'the adopter in an imported file': 'Grace Never-Imported' }
/** What a visitor of the adoption page searches for. */
const searched: Secrets = { 'the words of a search': 'Searched-For Visitor' }
const idempotent = (key: string) => ({ 'idempotency-key': key })

/** What the run has made, and everything that it has responded with an error. */
type Run = { keys: Secrets; webhooks: Secrets; errors: string; pages: string; metrics: string }

const cleanup = new SuiteCleanup()
let server: Server
let databaseEnv: DatabaseEnv
let run: Run
before(async () => {
  server = await serverFor(cleanup, {
    ...loopbackAllowed,
    PETSTORE_ADMIN_KEY: adminKey,
    PETSTORE_LOG_LEVEL: 'trace',
  })
  databaseEnv = server.databaseEnv
  run = await runWithErrors()
  await eventually('the log has the last request', () => server.output.stderr.includes('"status":500'))
})
after(() => cleanup.end())

/** Fails every change of these tables. PostgreSQL reports the row that it rejects. */
const breakTables = (tables: readonly string[]) =>
  inDatabase(databaseEnv, (database) =>
    database.migrate(async (_db, runScript) => {
      for (const table of tables)
        await runScript(
          engine === 'postgres'
            ? `ALTER TABLE ${table} ADD CONSTRAINT fault_${table} CHECK (false) NOT VALID`
            : ['INSERT', 'UPDATE']
                .map(
                  (change) =>
                    `CREATE TRIGGER fault_${table}_${change} BEFORE ${change} ON ${table} BEGIN SELECT RAISE(ABORT, 'fault'); END;`,
                )
                .join('\n'),
        )
    }),
  )

const phone = contact['the telephone number of the store']
const words = encodeURIComponent(String(searched['the words of a search']))
/** As ASM3 exports it: people are in columns of their own. */
const fileOf = (name: string) =>
  `ANIMALCODE,ANIMALNAME,ANIMALSPECIES,ANIMALLOCATION,PERSONNAME\n${name},${name},Dog,${personal['the location in an imported file']},${adopter['the adopter in an imported file']}`

async function runWithErrors(): Promise<Run> {
  const errors: string[] = []
  const send = async (method: string, path: string, options: RequestOptions = {}) => {
    const response = await server.request(method, `/v1${path}`, { key: adminKey, ...options })
    if (response.status >= 400) errors.push(JSON.stringify(response.headers), response.text)
    return response
  }
  const pages: string[] = []
  const visit = async (path: string) => {
    const { status, headers, text } = await server.request('GET', path)
    if (status >= 400) pages.push(JSON.stringify(headers), text)
  }
  const imports = importCalls((method, path, options) => send(method, path.replace('/v1', ''), options))
  const receiver = await startWebhookReceiver()
  cleanup.after(() => receiver.stop())
  receiver.reply = 500

  const made = await send('POST', '/keys', { body: { name: 'caller' }, headers: idempotent('key-1') })
  const rotated = await send('POST', `/keys/${made.json.id}/rotate`, {
    body: {},
    headers: idempotent('key-2'),
  })
  const key = rotated.json.key
  const hook = await send('POST', '/webhooks', {
    body: { url: receiver.url, events: ['order.placed'] },
    headers: idempotent('hook-1'),
  })
  const newHook = await send('POST', `/webhooks/${hook.json.id}/rotate`, { body: {} })
  const pet = await send('POST', '/pets', { body: { name: 'Milo', categoryId: 3 } })
  const note = personal['the note of an order']
  const order = { petId: pet.json.id, customer, note }
  await send('POST', '/store/orders', { body: order, headers: idempotent('order-1') })
  const profile = {
    location: personal['the location of an animal'],
    staffNotes: personal['the notes of staff'],
  }
  await send('PATCH', `/pets/${pet.json.id}/profile`, { body: profile })
  await receiver.until(1)
  await send('PATCH', '/store/profile', { body: { adoptionPage: true, phone } })
  const { id: imported } = await imports.importAll(fileOf('Rex'), '?createCategories=true')

  // Rejected: a conflict, wrong values, wrong keys, an unknown path, no JSON.
  await send('POST', '/store/orders', { key, body: order })
  await send('POST', '/store/orders', {
    body: { petId: 0, customer: { ...customer, phone: 1 }, note: [note] },
  })
  await send('PATCH', `/pets/${pet.json.id}/profile`, { body: { ...profile, species: 7 } })
  await send('GET', '/keys', { key })
  await send('GET', '/pets', { key: made.json.key.replace(/.$/, '') })
  await send('GET', `/unknown/${key}?key=${adminKey}`)
  await send('POST', '/pets', { body: `{"name": "${customer.name}` })
  await send('PATCH', '/store/profile', { body: { phone: [phone], email: `${phone} at home` } })
  await imports.upload(fileOf('Rex'), '?map=PERSONNAME%3Dname')
  const damaged = await imports.checked(`${fileOf('Rex')}\n"${adopter['the adopter in an imported file']}`)
  await imports.remove(damaged.id)
  for (const path of [`/adopt?q=${words}`, `/adopt/${key}`, `/adopt/animals.json?q=${words}&sex=${key}`])
    await visit(path)
  for (const path of [`/console/${key}`, `/photos/${key}/640.webp`]) await visit(path)

  // Failures of the database, with the values of the row that it rejects.
  const other = await send('POST', '/pets', { body: { name: 'Luna', categoryId: 3 } })
  const waiting = await imports.checked(fileOf('Bello'), '?createCategories=true')
  await breakTables(['orders', 'profiles', 'webhooks', 'api_key_secrets', 'store_profile'])
  const failed = [
    await send('POST', '/store/orders', { body: { ...order, petId: other.json.id } }),
    await send('PATCH', `/pets/${pet.json.id}/profile`, { body: { ...profile, description: 'Friendly.' } }),
    await send('POST', `/webhooks/${hook.json.id}/rotate`, { body: {} }),
    await send('POST', `/keys/${made.json.id}/rotate`, { body: {} }),
    await send('PATCH', '/store/profile', { body: { phone: `${phone} 1` } }),
  ]
  assert.deepEqual(
    failed.map(({ status }) => status),
    [500, 500, 500, 500, 500],
    errors.join('\n'),
  )
  await imports.apply(waiting.id)
  const { result, wrong } = await imports.applied(waiting.id)
  assert.deepEqual([result.added, wrong], [0, 1], 'the database has rejected the animal')
  for (const id of [imported, waiting.id]) await imports.remove(id)
  const metrics = await server.request('GET', '/metrics', { key: adminKey })
  assert.equal(metrics.status, 200)
  return {
    keys: { 'a rotated key': made.json.key, 'a key': key, 'the operator key': adminKey },
    webhooks: { 'a rotated webhook secret': hook.json.secret, 'a webhook secret': newHook.json.secret },
    errors: errors.join('\n'),
    pages: pages.join('\n'),
    metrics: metrics.text,
  }
}

const databasePassword = (): Secrets => {
  const { DATABASE_URL } = databaseEnv
  return DATABASE_URL === undefined ? {} : { 'the password of the database': new URL(DATABASE_URL).password }
}
const everything = (): Secrets => ({
  ...{ ...run.keys, ...run.webhooks, ...databasePassword() },
  ...{ ...personal, ...contact, ...adopter, ...searched },
})

describe('no secret and nothing personal is in', () => {
  test('the log', () => {
    assert.match(server.output.stderr, /"status":500/)
    assertNoSecrets('The log', server.output.stderr, everything())
  })

  test('the output of the start', () => {
    assertNoSecrets('The output', server.output.stdout, everything())
  })

  test('error responses', () => {
    assertNoSecrets('The error responses', run.errors, everything())
    const { [String(Object.keys(contact)[0])]: _, ...notPublic } = everything()
    assertNoSecrets('The error pages', run.pages, notPublic)
  })

  test('/metrics', () => {
    assertNoSecrets('The metrics', run.metrics, everything())
  })
})

describe('no key and no password of the database is in', () => {
  const secrets = () => ({ ...run.keys, ...databasePassword(), ...adopter, ...searched })

  test('the database, and so in its backups', async (t) => {
    assertNoSecrets('The database', await databaseText(databaseEnv), secrets())
    if (engine === 'postgres') return
    const file = join(folderFor(t), 'copy.db')
    const { code, stderr } = await runPetstore(['backup', file], databaseEnv)
    assert.equal(code, 0, stderr)
    const backup = readFileSync(file, 'latin1')
    assertNoSecrets('The backup', backup, secrets())
    // The guide says that a backup has them: the search above would find a key too.
    const expected = { ...run.webhooks, ...personal, ...contact }
    assert.deepEqual(secretsIn(backup, expected).sort(), Object.keys(expected).sort())
  })

  for (const args of [['export'], ['export', '--without-keys']]) {
    test(`the output of ${args.join(' ')}`, async () => {
      const { code, stdout, stderr } = await runPetstore(args, databaseEnv)
      assert.equal(code, 0, stderr)
      assertNoSecrets('The export', stdout, { ...secrets(), ...run.webhooks })
      const expected = { ...personal, ...contact }
      assert.deepEqual(secretsIn(stdout, expected).sort(), Object.keys(expected).sort())
    })
  }

  test('the messages of commands that cannot use the database', async () => {
    const { DATABASE_URL } = databaseEnv
    if (DATABASE_URL === undefined) return
    const url = new URL(DATABASE_URL)
    url.password = 'a-wrong-password-that-is-searched-for'
    for (const command of ['doctor', 'export', 'serve']) {
      const env = { ...databaseEnv, DATABASE_URL: url.href, PORT: '0', PETSTORE_ADMIN_KEY: adminKey }
      const { code, stdout, stderr } = await runPetstore([command], env)
      assert.notEqual(code, 0)
      assertNoSecrets(command, stdout + stderr, { ...secrets(), 'a wrong password': url.password })
    }
  })
})

test('a key that was not used since the start is not in the memory of the process, and so in no core dump', async (t) => {
  if (process.platform !== 'linux') return
  const env = { PETSTORE_ADMIN_KEY: adminKey }
  const first = await serverFor(t, env)
  const { json } = await first.request('POST', '/v1/keys', { key: adminKey, body: { name: 'caller' } })
  await stopped(first)
  const second = await serverFor(t, { ...first.databaseEnv, ...env })
  assert.equal((await second.request('GET', '/v1/keys', { key: adminKey })).json.length, 2)
  const found = textsInMemory(Number(second.child.pid), [adminKey, json.key])
  assert.deepEqual(found, [adminKey], 'the guide says that a dump has the keys that are in use')
})
