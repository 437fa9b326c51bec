import { setTimeout as pause } from 'node:timers/promises'
import pg from 'pg'
import type { Database } from '../../src/database/database.ts'
import { administer, type DatabaseEnv, openTestDatabase } from './engine.ts'
import { adminKey, makeAmpleKey, sharedDatabase } from './instances.ts'
import { startTestService, type TestService } from './service.ts'

/** Where a write of the held side waits: with all its locks but that of its counter slot, or with all of them. */
export type HoldPoint = 'before its last statement' | 'before its commit'

const triggers: Record<HoldPoint, string> = {
  'before its last statement': 'BEFORE UPDATE ON counter_slots',
  'before its commit': 'AFTER INSERT ON events',
}

/** An instance, and its database without HTTP. */
export type Side = { readonly service: TestService; readonly database: Database }

export type HeldWrites = {
  readonly databaseEnv: DatabaseEnv
  /** Its writes wait at the hold point while another one is to meet them. */
  readonly held: Side
  readonly free: Side
  /** An API key with all scopes and limits that no test reaches. */
  readonly key: string
  /** A connection that nothing else uses. */
  readonly client: pg.Client
  /**
   * Starts the first write and holds it. Then starts the second, and lets the first go on when the second waits for it or
   * has ended.
   */
  meet<A, B>(
    first: (side: Side) => Promise<A>,
    second: (side: Side) => Promise<B>,
  ): Promise<{ results: [A, B]; isHeld: boolean; hasWaited: boolean }>
}

const lockId = 4711
const heldName = 'held'
const freeName = 'free'
const pollMs = 4
/** The held write waits for as long, instead of the 2 s of other locks: on a busy machine the second starts late. */
const boundMs = 20_000

/** Two instances on one database. All connections use the same counter slot if `hasOneSlot`. */
export async function heldWritesFor(
  t: Parameters<typeof sharedDatabase>[0],
  holdPoint: HoldPoint,
  { hasOneSlot = false, env = {} }: { hasOneSlot?: boolean; env?: Record<string, string> } = {},
): Promise<HeldWrites> {
  const { databaseEnv, owner } = await sharedDatabase(t)
  const client = new pg.Client({ connectionString: databaseEnv.DATABASE_URL })
  await client.connect()
  owner.after(() => client.end())
  await client.query(`
    CREATE FUNCTION wait_if_held() RETURNS trigger LANGUAGE plpgsql SET lock_timeout = ${boundMs} AS $$ BEGIN
      IF current_setting('application_name') = '${heldName}' THEN
        PERFORM pg_advisory_xact_lock_shared(${lockId});
      END IF;
      RETURN NULL;
    END $$;
    CREATE TRIGGER wait_if_held ${triggers[holdPoint]} FOR EACH STATEMENT EXECUTE FUNCTION wait_if_held()`)
  if (hasOneSlot) await useOneSlot(client, databaseEnv)
  const start = async (name: string): Promise<Side> => {
    const sideEnv = { ...databaseEnv, DATABASE_URL: named(databaseEnv.DATABASE_URL as string, name) }
    const service = await startTestService({ ...sideEnv, PETSTORE_ADMIN_KEY: adminKey, ...env })
    owner.after(() => service.stop())
    const database = await openTestDatabase(sideEnv)
    owner.after(() => database.close())
    return { service, database }
  }
  const held = await start(heldName)
  const free = await start(freeName)
  const isWaiting = async (condition: string) => {
    const { rows } = await client.query(
      `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock' AND ${condition}`,
    )
    return rows.length > 0
  }
  const heldPids = `(SELECT array_agg(pid) FROM pg_stat_activity WHERE application_name = '${heldName}')`
  return {
    databaseEnv,
    held,
    free,
    key: await makeAmpleKey(free.service),
    client,
    async meet(first, second) {
      await client.query(`SELECT pg_advisory_lock(${lockId})`)
      try {
        const one = first(held)
        const isHeld = await endsOr(one, () =>
          isWaiting(`application_name = '${heldName}' AND wait_event = 'advisory'`),
        )
        const other = second(free)
        const hasWaited = await endsOr(other, () =>
          isWaiting(`application_name = '${freeName}' AND pg_blocking_pids(pid) && ${heldPids}`),
        )
        await client.query(`SELECT pg_advisory_unlock(${lockId})`)
        return { results: await Promise.all([one, other]), isHeld, hasWaited }
      } finally {
        await client.query('SELECT pg_advisory_unlock_all()')
      }
    },
  }
}

function named(url: string, name: string): string {
  const result = new URL(url)
  result.searchParams.set('application_name', name)
  return result.href
}

/** A slot is chosen by the id of the process. A function with the same name, earlier in the search path, replaces it. */
async function useOneSlot(client: pg.Client, { DATABASE_URL }: DatabaseEnv): Promise<void> {
  await client.query('CREATE FUNCTION public.pg_backend_pid() RETURNS integer LANGUAGE sql AS $$ SELECT 7 $$')
  const name = new URL(DATABASE_URL as string).pathname.slice(1)
  await administer(`ALTER DATABASE ${name} SET search_path = public, pg_catalog`)
}

/** Waits until the work has ended or the condition holds. Returns whether it was the condition. */
async function endsOr(work: Promise<unknown>, condition: () => Promise<boolean>): Promise<boolean> {
  let hasEnded = false
  const end = () => {
    hasEnded = true
  }
  work.then(end, end)
  for (const deadline = performance.now() + boundMs; performance.now() < deadline; await pause(pollMs)) {
    if (hasEnded) return false
    if (await condition()) return true
  }
  throw new Error('The write has neither ended nor does it wait.')
}
